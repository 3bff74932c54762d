// The kernels of the separable rung: which one, its sizes and its factors by value, and how it is launched.
#include "cuda/families/separable/separable_launch.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/families/common/images.hpp"
#include "cuda/families/separable/separable.cuh"
#include "cuda/families/separable/separable_halves.cuh"
#include "cuda/families/separable/separable_march.cuh"
#include "cuda/families/separable/separable_tensor.cuh"
#include "cuda/launch.hpp"

namespace tapline::cuda::image_separable_rung {
namespace {

namespace halves = image_halves_rung;

// The beginning of a segment, in rows: filtering a row of the halo, starting.
constexpr double kHaloCost = 0.6;
constexpr double kStartRows = 8;
constexpr double kUnevenness = 0.08;     // of the last round's rows: some blocks end later
constexpr double kTensorUnevenness = 0;  // two rounds were 11% slower than one (16384 x 16384 pixels)
constexpr std::int64_t kMostRounds = 4;  // of segments that do not all run at once

// The rows that a block does, a strip of `columns` elements: so many that all blocks run at once, or else in few rounds. The halo's
// rows are filtered only along themselves.
int segment_rows_of(const ImageArguments& a, int columns, std::size_t bytes, int most_held, double unevenness,
                    const cuda_abi::Device& device) {
    const auto held = static_cast<std::int64_t>(shared_limit(device) / (bytes + kReservedBytes));
    const std::int64_t at_once = device.multiprocessors * std::clamp<std::int64_t>(held, 1, most_held);
    const std::int64_t strips = divide_up(a.out_elements, columns) * a.images;
    const std::int64_t steps = divide_up(a.rows, kSide);
    std::int64_t best = steps;
    double least = HUGE_VAL;
    for (std::int64_t rounds = 1; rounds <= kMostRounds; ++rounds) {
        const std::int64_t segments = std::clamp<std::int64_t>(rounds * at_once / strips, 1, steps);
        const std::int64_t length = divide_up(steps, segments);
        const double needed = static_cast<double>(divide_up(strips * divide_up(steps, length), at_once));
        const auto rows = static_cast<double>(length * kSide);
        const double cost = needed * (rows + kHaloCost * (a.mask_height - 1) + kStartRows) + unevenness * rows;
        if (cost < least) {
            least = cost;
            best = length;
        }
    }
    return static_cast<int>(std::min(best * kSide, kFar));
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
        g.segment_rows = segment_rows_of(a, kColumns, shared_bytes, blocks_of(a.channels), kUnevenness, prepared.device);
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
        g.segment_rows = segment_rows_of(a, kTensorPixels, shared_bytes, kTensorBlocks, kTensorUnevenness, prepared.device);
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

// The taps with the largest at 2^kTapExponent; the exponent that they are multiplied with.
int scale_taps(float (&taps)[kPassTaps], int count) {
    float largest = 0;
    for (int i = 0; i < count; ++i) { largest = std::max(largest, std::fabs(taps[i])); }
    const int exponent = largest == 0 ? 0 : halves::kTapExponent - std::ilogb(largest);
    for (int i = 0; i < count; ++i) { taps[i] = std::ldexp(taps[i], exponent); }
    return exponent;
}

template <int kChannels>
struct ChosenHalves final : ChosenKernel {
    using Shape = halves::HalvesShape<halves::kSteps, kChannels>;
    static constexpr auto* kKernel = &halves::march_halves<halves::kSteps, kChannels>;

    explicit ChosenHalves(const Prepared& prepared) {
        const auto height = static_cast<int>(prepared.problem.y.k);
        const auto width = static_cast<int>(prepared.problem.x.k);
        copy_factors(march, prepared);
        march.exponent = 127 - scale_taps(march.column, height) - scale_taps(march.row, width);
        double sum = 0;
        for (int i = 0; i < width; ++i) { sum += std::fabs(march.row[i]); }
        const int middle = sum == 0 ? 0 : -std::ilogb(sum) - 1;
        march.middle = std::ldexp(1.0F, middle);
        march.exponent -= middle;
        march.lead_rows = halves::kStepRows * (halves::kSteps - halves::steps_of(height));
        load_kernel(kKernel, Shape::kBytes, prepared.device);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, cudaStream_t stream) const override {
        ImageArguments a = image_arguments_of(prepared, job, on_device);
        halves::HalvesMarch g = march;
        g.in_step = halves::kStepRows * a.in_row * static_cast<std::int64_t>(sizeof(float));
        g.out_step = halves::kStepRows * a.out_row * static_cast<std::int64_t>(sizeof(float));
        // As in ChosenTensor.
        const int room = halves::kStepRows * halves::kSteps - 15 - a.mask_width;
        while (g.lead <= room && (place_of(a.in) - (a.origin_x + g.lead) * a.channels) % 4 != 0) { ++g.lead; }
        g.vectors = g.lead <= room && a.in_row % 4 == 0 && a.in_image % 4 == 0;
        if (g.vectors == 0) { g.lead = 0; }
        g.out_vectors = place_of(a.out) == 0 && a.out_row % 4 == 0 && a.out_image % 4 == 0;
        g.segment_rows = segment_rows_of(a, Shape::kOutRow, Shape::kBytes, Shape::kBlocks, kTensorUnevenness, prepared.device);
        const dim3 grid = image_grid(a, g.segment_rows, Shape::kOutRow);
        launch_kernel(kKernel, grid, Shape::kThreads, Shape::kBytes, stream, a, g);
    }
    [[nodiscard]] std::string describe() const override {
        return down_strips(std::to_string(halves::kPixels) + " pixels on tensor cores as halves", halves::kStepRows);
    }

    halves::HalvesMarch march{};
};

}  // namespace

std::unique_ptr<const ChosenKernel> load_kernel_for(const Prepared& prepared) {
    static_assert(kStepRows == kSide && halves::kStepRows == kSide);
    const Problem& p = prepared.problem;
    if (on_halves(p, prepared.device)) {
        if (p.channels.length == 1) { return std::make_unique<ChosenHalves<1>>(prepared); }
        return std::make_unique<ChosenHalves<3>>(prepared);
    }
    if (on_tensor_cores(p, prepared.device)) { return std::make_unique<ChosenTensor>(prepared); }
    if (marches(p, prepared.device)) { return std::make_unique<ChosenMarch>(prepared); }
    return std::make_unique<ChosenTiles>(prepared);
}

}  // namespace tapline::cuda::image_separable_rung
