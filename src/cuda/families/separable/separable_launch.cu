// The kernels of the separable rung: which one, its sizes and its factors by value, and how it is launched.
#include "cuda/families/separable/separable_launch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda/families/common/images.hpp"
#include "cuda/families/separable/separable.cuh"
#include "cuda/families/separable/separable_halves.cuh"
#include "cuda/families/separable/separable_march.cuh"
#include "cuda/families/separable/separable_tensor.cuh"
#include "cuda/launch.hpp"

namespace tapline::cuda::image_separable_rung {
namespace {

namespace halves = image_halves_rung;

constexpr double kUnevenness = 0.08;     // of the last round's rows: some blocks end later
constexpr double kTensorUnevenness = 0;  // two rounds were 11% slower than one (16384 x 16384 pixels)

// A job's strips of a kernel that marches down `columns` elements.
Strips strips_of(const ImageArguments& a, int columns, std::size_t bytes, int most_held, double unevenness) {
    Strips s{};
    s.strips = divide_up(a.out_elements, columns) * a.images;
    s.rows = a.rows;
    s.bytes = bytes;
    s.most_held = most_held;
    s.halo_rows = halo_rows_of(a.mask_height);
    s.unevenness = unevenness;
    return s;
}

// The factors of a mask of rank one.
template <class Shape>
void copy_factors(Shape& to, const Prepared& prepared) {
    std::copy_n(prepared.given.columns, prepared.problem.y.k, to.column);
    std::copy_n(prepared.given.rows, prepared.problem.x.k, to.row);
}

// Which of four floats, 16 bytes, an address is.
std::int64_t place_of(const void* at) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) / sizeof(float) % 4);
}

std::string down_strips(const std::string& width, int rows) {
    return "rank 1, down strips of " + width + ", " + std::to_string(rows) + " rows a step";
}

struct ChosenTiles final : ChosenKernel {
    explicit ChosenTiles(const Prepared& prepared)
        : layout(layout_of(prepared.problem, prepared.device)),
          kernel(kernel_of(layout, prepared.problem)),
          threads(threads_of(prepared.problem)),
          shared_bytes(tile_bytes(layout, prepared.problem)) {
        load_kernel(kernel, shared_bytes, prepared.device);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, cudaStream_t stream) const override {
        ImageArguments a = image_arguments_of(prepared, job, on_device);
        const dim3 grid = image_grid(a, layout.tile_rows, layout.tile_elements);
        a.taps = on_device.tables;
        launch_kernel(kernel, grid, static_cast<unsigned>(threads), shared_bytes, stream, a, layout);
    }
    [[nodiscard]] std::string describe() const override {
        return "rank " + std::to_string(layout.rank) + ", tiles of " + std::to_string(layout.tile_rows) + " rows of " +
               std::to_string(layout.tile_elements) + " elements";
    }
    [[nodiscard]] std::int64_t rows_together() const override { return layout.tile_rows; }

    using Kernel = void (*)(ImageArguments, Layout);
    static Kernel kernel_of(const Layout& g, const Problem& p) {
        if (p.channels.length == 1) {
            return g.rank == 1 ? &image_separable_rung::kernel<true, kAcrossOne> : &image_separable_rung::kernel<false, kAcrossOne>;
        }
        return g.rank == 1 ? &image_separable_rung::kernel<true, kAcrossMany> : &image_separable_rung::kernel<false, kAcrossMany>;
    }

    Layout layout;
    Kernel kernel;
    int threads;
    std::size_t shared_bytes;
};

struct ChosenMarch final : ChosenKernel {
    explicit ChosenMarch(const Prepared& prepared)
        : march(march_of(prepared.problem)), kernel(kernel_of(prepared.problem.channels.length)), shared_bytes(march_bytes(march)) {
        copy_factors(march, prepared);
        load_kernel(kernel, shared_bytes, prepared.device);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, cudaStream_t stream) const override {
        ImageArguments a = image_arguments_of(prepared, job, on_device);
        March g = march;
        g.segment_rows =
            segments_of(strips_of(a, kColumns, shared_bytes, blocks_of(a.channels), kUnevenness), prepared.device).segment_rows;
        const dim3 grid = image_grid(a, g.segment_rows, kColumns);
        launch_kernel(kernel, grid, kColumns, shared_bytes, stream, a, g);
    }
    [[nodiscard]] std::string describe() const override { return down_strips(std::to_string(kColumns) + " elements", kSide); }

    using Kernel = void (*)(ImageArguments, March);
    static Kernel kernel_of(std::int64_t channels) {
        switch (channels) {
            case 1:
                return &image_separable_rung::march<1>;
            case 2:
                return &image_separable_rung::march<2>;
            case 3:
                return &image_separable_rung::march<3>;
            default:
                return &image_separable_rung::march<4>;
        }
    }

    March march;
    Kernel kernel;
    std::size_t shared_bytes;
};

struct ChosenTensor final : ChosenKernel {
    explicit ChosenTensor(const Prepared& prepared)
        : steps(tensor_steps_of(prepared.problem)),
          kernel(kernel_of(steps)),
          shared_bytes(static_cast<std::size_t>(tensor_bytes(steps))) {
        copy_factors(march, prepared);
        load_kernel(kernel, shared_bytes, prepared.device);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, cudaStream_t stream) const override {
        ImageArguments a = image_arguments_of(prepared, job, on_device);
        TensorMarch g = march;
        // Pixels by which windows begin earlier, to begin on 16 bytes in every row of every image: as many as the steps have room
        // for.
        const int room = 8 * steps - 15 - a.mask_width;
        while (g.lead <= room && (place_of(a.in) - a.origin_x - g.lead) % 4 != 0) { ++g.lead; }
        g.vectors = g.lead <= room && a.in_row % 4 == 0 && a.in_image % 4 == 0;
        if (g.vectors == 0) { g.lead = 0; }
        g.segment_rows =
            segments_of(strips_of(a, kTensorPixels, shared_bytes, kTensorBlocks, kTensorUnevenness), prepared.device).segment_rows;
        const dim3 grid = image_grid(a, g.segment_rows, kTensorPixels);
        launch_kernel(kernel, grid, 32 * kTensorWarps, shared_bytes, stream, a, g);
    }
    [[nodiscard]] std::string describe() const override {
        return down_strips(std::to_string(kTensorPixels) + " pixels on tensor cores", kStepRows);
    }

    using Kernel = void (*)(ImageArguments, TensorMarch);
    static Kernel kernel_of(int steps) {
        static_assert(kLeastRowSteps == 4 && kMostRowSteps == 6);
        return steps == 4 ? &march_tensor<4> : steps == 5 ? &march_tensor<5> : &march_tensor<6>;
    }

    TensorMarch march{};
    int steps;
    Kernel kernel;
    std::size_t shared_bytes;
};

// Taps with the largest at 2^kTapExponent: as they were are those times 2^-exponent times `factor`, 1 to 2.
struct ScaledTaps {
    int exponent = 0;
    double factor = 1;
};

// The exponent that brings the largest there.
int exponent_of(const double* taps, std::int64_t count) {
    double largest = 0;
    for (std::int64_t i = 0; i < count; ++i) { largest = std::max(largest, std::fabs(taps[i])); }
    return largest == 0 ? 0 : halves::kTapExponent - std::ilogb(largest);
}

// Whether a number is a half, but for what a float's rounding makes of it.
bool is_half(double x) {
    constexpr double kBits = 1 << 11;
    constexpr double kRounding = 1e-8;
    if (x == 0) { return true; }
    int exponent = 0;
    const double scaled = std::frexp(x, &exponent) * kBits;
    return exponent > -14 && std::fabs(scaled - std::nearbyint(scaled)) <= kRounding * kBits;
}

// The factor by which taps are halves, that of means and of integers; 0: there is none.
double half_factor_of(const double* taps, std::int64_t count) {
    const int exponent = exponent_of(taps, count);
    double largest = 0;
    for (std::int64_t i = 0; i < count; ++i) { largest = std::max(largest, std::fabs(taps[i])); }
    if (largest == 0) { return 1; }
    for (const double factor : {1.0, std::ldexp(largest, exponent - halves::kTapExponent)}) {
        if (std::all_of(taps, taps + count, [&](double tap) { return is_half(std::ldexp(tap, exponent) / factor); })) {
            return factor;
        }
    }
    return 0;
}

ScaledTaps scale_taps(float* to, const double* taps, std::int64_t count, bool are_halves) {
    const ScaledTaps scaled = {exponent_of(taps, count), are_halves ? half_factor_of(taps, count) : 1};
    for (std::int64_t i = 0; i < count; ++i) { to[i] = std::ldexp(static_cast<float>(taps[i] / scaled.factor), scaled.exponent); }
    return scaled;
}

template <int kSteps, int kChannels, int kProducts, int kRowSteps = kSteps>
struct ChosenHalves final : ChosenKernel {
    using Shape = halves::HalvesShape<kSteps, kChannels, kProducts, kRowSteps>;
    static constexpr auto* kKernel = &halves::march_halves<kSteps, kChannels, kProducts, kRowSteps>;

    explicit ChosenHalves(const Prepared& prepared) {
        const Problem& p = prepared.problem;
        const auto* const taps = static_cast<const float*>(prepared.given.taps);
        const std::vector<double> one_column(taps, taps + (kRowSteps == 1 ? p.y.k : 0));
        const double one = 1;
        const ScaledTaps column =
            scale_taps(march.column, kRowSteps == 1 ? one_column.data() : prepared.given.columns, p.y.k, kProducts < 3);
        const ScaledTaps row = scale_taps(march.row, kRowSteps == 1 ? &one : prepared.given.rows, p.x.k, kProducts < 3);
        march.exponent = 127 - column.exponent - row.exponent;
        double sum = 0;
        for (std::int64_t i = 0; i < p.x.k; ++i) { sum += std::fabs(march.row[i]); }
        const double factor = column.factor * row.factor;
        const int middle = sum == 0 ? 0 : -std::ilogb(sum * factor) - 1;
        march.middle = std::ldexp(static_cast<float>(factor), middle);
        march.exponent -= middle;
        march.lead_rows = halves::kStepRows * (kSteps - halves::steps_of(static_cast<int>(p.y.k)));
        load_kernel(kKernel, Shape::kBytes, prepared.device);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, cudaStream_t stream) const override {
        ImageArguments a = image_arguments_of(prepared, job, on_device);
        halves::HalvesMarch g = march;
        g.in_step = halves::kStepRows * a.in_row * static_cast<std::int64_t>(sizeof(float));
        g.out_step = halves::kStepRows * a.out_row * static_cast<std::int64_t>(sizeof(float));
        // As in ChosenTensor.
        const int room = halves::most_taps_of(kRowSteps) - a.mask_width;
        while (g.lead <= room && (place_of(a.in) - (a.origin_x + g.lead) * a.channels) % 4 != 0) { ++g.lead; }
        g.vectors = g.lead <= room && a.in_row % 4 == 0 && a.in_image % 4 == 0;
        if (g.vectors == 0) { g.lead = 0; }
        g.out_vectors = place_of(a.out) == 0 && a.out_row % 4 == 0 && a.out_image % 4 == 0;
        Strips strips = strips_of(a, Shape::kOutRow, Shape::kBytes, Shape::kBlocks, kTensorUnevenness);
        if (!Shape::kFew) { strips.halo_rows = halves::halo_rows_of(kSteps); }
        g.segment_rows = segments_of(strips, prepared.device).segment_rows;
        const dim3 grid = image_grid(a, g.segment_rows, Shape::kOutRow);
        launch_kernel(kKernel, grid, Shape::kThreads, Shape::kBytes, stream, a, g);
    }
    [[nodiscard]] std::string describe() const override {
        return down_strips(std::to_string(Shape::kPixels) + " pixels on tensor cores as halves", halves::kStepRows);
    }

    halves::HalvesMarch march{};
};

template <int kSteps>
std::unique_ptr<const ChosenKernel> halves_of_steps(const Prepared& prepared, int steps) {
    if constexpr (kSteps < halves::kMostSteps) {
        if (steps > kSteps) { return halves_of_steps<kSteps + 1>(prepared, steps); }
    }
    const Problem& p = prepared.problem;
    if (halves::is_one_column(p)) { return std::make_unique<ChosenHalves<kSteps, 1, 3, 1>>(prepared); }
    if (half_factor_of(prepared.given.columns, p.y.k) != 0 && half_factor_of(prepared.given.rows, p.x.k) != 0) {
        return std::make_unique<ChosenHalves<kSteps, 1, 2>>(prepared);
    }
    return std::make_unique<ChosenHalves<kSteps, 1, 3>>(prepared);
}

}  // namespace

std::unique_ptr<const ChosenKernel> load_kernel_for(const Prepared& prepared) {
    static_assert(kStepRows == kSide && halves::kStepRows == kSide);
    const Problem& p = prepared.problem;
    if (on_halves(p, prepared.device)) {
        if (p.channels.length == 1) { return std::make_unique<ChosenHalves<halves::kFewSteps, 1, 3>>(prepared); }
        return std::make_unique<ChosenHalves<halves::kFewSteps, 3, 3>>(prepared);
    }
    if (!marches(p, prepared.device) && on_boxes(p, prepared.device)) { return load_boxes(prepared); }
    if (const int steps = many_halves_steps_of(p, prepared.device); steps != 0) {
        return halves_of_steps<halves::kFewSteps + 1>(prepared, steps);
    }
    if (on_tensor_cores(p, prepared.device)) { return std::make_unique<ChosenTensor>(prepared); }
    if (marches(p, prepared.device)) { return std::make_unique<ChosenMarch>(prepared); }
    return std::make_unique<ChosenTiles>(prepared);
}

}  // namespace tapline::cuda::image_separable_rung
