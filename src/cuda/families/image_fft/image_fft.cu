// The FFT rung for images: what it supports, the mask's spectrum, how it is launched.
#include "cuda/families/image_fft/image_fft.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <numeric>

#include "cuda/families/common/images.hpp"
#include "cuda/families/direct/image_direct.hpp"
#include "cuda/families/image_fft/image_fft.cuh"
#include "cuda/families/image_fft/image_fft_tables.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/fft.cuh"

namespace tapline::cuda {
namespace {

namespace ft = image_fft_rung;
using image_transforms::append;
using image_transforms::append_pairs;
using image_transforms::Complex;
using image_transforms::roots_of;

// Seconds of the tiles that a multiprocessor has at once, and of an output of one of them (H200, f32, 4096 x 4096 pixels in a plane
// or in three interleaved channels, masks of 5 to 97).
struct Cost {
    double tile, output, interleaved_output;
};
constexpr Cost kNarrowCost{.tile = 8.9e-6, .output = 0.42e-9, .interleaved_output = 0.70e-9};
constexpr Cost kWideCost{.tile = 9.9e-6, .output = 0.30e-9, .interleaved_output = 0.39e-9};
// Of sums in double (H200, f64, 5042 x 5042 pixels, 13 x 13 and 31 x 31 taps: 270 and 356 us; i16 272 and 320, 913 x 913 with 30 x
// 30 20, u8, 3,699 x 3,699 with 39 x 39, 209), of f64 and of integers that become integers.
constexpr Cost kDoubleCost{.tile = 13.5e-6, .output = 0.37e-9, .interleaved_output = 0.5e-9};
constexpr Cost kWholeDoubleCost{.tile = 10.2e-6, .output = 0.53e-9, .interleaved_output = 0.66e-9};
constexpr double kDoubleCostRatio = 2;  // of single to double precision on the GPU that was measured

// Times as long a tile takes whose lanes load down columns, of floats and of other pixels (H100, 4096 x 4096, 9 x 9 and 31 x 31
// taps: 105 and 139 us for 73 and 88; H200, 8,490 x 4,087 f16, 2 x 1 147 us, 1,286 x 26,344, 18 x 2 166; f64, 83 x 72,893, 19 x 83
// 211).
constexpr double kByColumns = 1.4;
constexpr double kNarrowByColumns = 1.5;

// Times as long where a sector of memory holds elements of one pixel only (H100, 25 x 6,398 x 32 f32, 22 x 45 taps 188 us; 925 x
// 103 x 32 complex64, 97 x 2 taps 309).
constexpr std::int64_t kManyChannels = 8;
constexpr double kByManyChannels = 1.5;

// What bytes take besides (H200: images of one tile 16 to 18 us, of 16 bits 11 to 13, of floats 9).
constexpr double kByteSeconds = 4e-6;

// ft::Shape's tables up to the spectra.
template <int kNear, class T>
void append_constants(std::vector<T>& to) {
    using D = ft::Shape<kNear>;
    constexpr double kPi = std::numbers::pi;
    for (int f = 0; f < ft::kLong; ++f) { append_pairs(to, ft::kShort, 2 * kPi * f / ft::kLong); }
    for (int q = 0; q < ft::kFar; ++q) { append_pairs(to, kNear, (kPi / 2 + 2 * kPi * q) / ft::kFar); }
    for (int s = 0; s < kNear; ++s) { append_pairs(to, ft::kFar, 2 * kPi * s / kNear); }
    for (int r = 0; r < ft::kShort; ++r) { append_pairs(to, ft::kLong, 2 * kPi * r / ft::kShort); }
    const std::vector<Complex> twiddles = roots_of(4 * D::kPoints);
    for (std::size_t x = 0; x < D::kPoints; ++x) { append(to, twiddles[x].real(), twiddles[x].imag()); }
}

// sum over the mask of tap (i, j) * exp(-2 pi i (y i / 128 + (x + 1/4) j / points)) / (128 points) for frequencies y = f + 32 p and
// x = q + 8 t, in the order in which the kernel's threads take them: two neighbouring t's of a thread, bits reversed, all threads,
// ...
template <int kNear, class T>
void append_spectrum(std::vector<T>& to, const T* taps, int height, int width) {
    using D = ft::Shape<kNear>;
    constexpr int kApart = kNear / ft::kFar;
    constexpr int kBits = fft::log2_of(kNear);
    const std::vector<Complex> roots_x = roots_of(4 * D::kPoints);
    const std::vector<Complex> roots_y = roots_of(ft::kRows);
    std::vector<Complex> rows(static_cast<std::size_t>(height) * D::kPoints);
    for (int i = 0; i < height; ++i) {
        for (int x = 0; x < D::kPoints; ++x) {
            Complex sum = 0;
            for (int j = 0; j < width; ++j) {
                sum += static_cast<double>(taps[i * width + j]) *
                       roots_x[static_cast<std::size_t>((4 * x + 1) * j % (4 * D::kPoints))];
            }
            rows[static_cast<std::size_t>(i * D::kPoints + x)] = sum;
        }
    }
    const std::size_t first = to.size();
    to.resize(first + std::size_t{2} * ft::kRows * D::kPoints);
    for (int task = 0; task < D::kTasks; ++task) {
        const int f = task / kNear;
        for (int u = 0; u < ft::kShort / kApart; ++u) {
            const int y = f + ft::kLong * (task / ft::kFar % kApart + u * kApart);
            for (int m = 0; m < kNear; ++m) {
                const int x = task % ft::kFar + ft::kFar * fft::reversed(m, kBits);
                Complex sum = 0;
                for (int i = 0; i < height; ++i) {
                    sum +=
                        rows[static_cast<std::size_t>(i * D::kPoints + x)] * roots_y[static_cast<std::size_t>(y * i % ft::kRows)];
                }
                sum /= ft::kRows * D::kPoints;
                const std::size_t at = first + 2 * static_cast<std::size_t>(((u * kNear + m) / 2 * D::kTasks + task) * 2 + m % 2);
                to[at] = static_cast<T>(sum.real());
                to[at + 1] = static_cast<T>(sum.imag());
            }
        }
    }
}

template <int kNear, class T>
std::vector<std::byte> tables_of(const Problem& p, const void* taps) {
    std::vector<T> to;
    append_constants<kNear>(to);
    const int height = static_cast<int>(p.y.k);
    const int width = static_cast<int>(p.x.k);
    for (std::int64_t mask = 0; mask < p.filters; ++mask) {
        append_spectrum<kNear>(to, static_cast<const T*>(taps) + mask * p.y.k * p.x.k, height, width);
    }
    std::vector<std::byte> bytes(to.size() * sizeof(T));
    std::memcpy(bytes.data(), to.data(), bytes.size());
    return bytes;
}

// Which tiles a plan has, and what it takes to launch them.
struct Tiling {
    bool wide = false;
    ft::Tiles tiles{};
    void (*kernel)(ImageArguments, ft::Tiles) = nullptr;
    int threads = 0;
    std::size_t shared_bytes = 0;
    double seconds = 0;  // by the model
};

struct ChosenFft final : Chosen {
    image_direct_rung::ExactKernel exact = nullptr;  // or else:
    Tiling tiling;
};

// Pixels or outputs that are no floats have kernels of their own.
bool has_any_type(const Problem& p) { return p.dtype != kF32; }
bool sums_doubles(const Problem& p) { return p.taps_dtype == kF64; }

// The kernel that knows a problem best. kUnrolled: channels beside 1 that one knows, 0 if that is not worth a kernel.
template <int kNear, int kBlocks, int kUnrolled>
auto* kernel_of(const Problem& p) {
    if (has_any_type(p)) { return &ft::kernel<kNear, kBlocks, 0, true>; }
    if (p.has_packed_pixels() && p.channels.length == kUnrolled) { return &ft::kernel<kNear, kBlocks, kUnrolled>; }
    if (p.has_packed_pixels() && p.channels.length == 1) { return &ft::kernel<kNear, kBlocks, 1>; }
    return &ft::kernel<kNear, kBlocks, 0>;
}

template <int kNear, int kBlocks>
Tiling tiling_of(const Problem& p, const cuda_abi::Device& device, const Cost& cost) {
    using D = ft::Shape<kNear>;
    Tiling tiling;
    tiling.wide = kNear > 8;
    tiling.threads = D::kTasks;
    tiling.shared_bytes = D::shared_bytes(sums_doubles(p) ? 16 : 8);
    tiling.tiles.out_rows = ft::kRows + 1 - static_cast<int>(p.y.k);
    const auto rounds_of = [&](int columns) {
        const double blocks = static_cast<double>(divide_up(p.y.outputs, tiling.tiles.out_rows)) *
                              static_cast<double>(divide_up(p.x.outputs, columns)) *
                              static_cast<double>(p.batch.length * p.channels.length);
        return std::ceil(blocks / (std::max(device.multiprocessors, 1) * kBlocks));
    };
    const int columns = D::kColumns + 1 - static_cast<int>(p.x.k);
    // Where it costs nothing, rows of outputs begin with a sector of 32 bytes: 1 to 3% faster.
    const int whole_sectors = columns / 8 * 8;
    tiling.tiles.out_columns = rounds_of(whole_sectors) <= rounds_of(columns) ? whole_sectors : columns;
    const double outputs = static_cast<double>(std::min<std::int64_t>(tiling.tiles.out_rows, p.y.outputs)) *
                           static_cast<double>(std::min<std::int64_t>(tiling.tiles.out_columns, p.x.outputs));
    const bool side_by_side = p.channels.length == 1 && std::abs(p.x.out_stride) == 1;
    tiling.tiles.by_columns = goes_down_columns(p);
    tiling.seconds = rounds_of(tiling.tiles.out_columns) * ((tiling.tiles.by_columns == 0 ? 1
                                                             : has_any_type(p)            ? kNarrowByColumns
                                                                                          : kByColumns) *
                                                                cost.tile +
                                                            outputs * (side_by_side ? cost.output : cost.interleaved_output));
    return tiling;
}

// The wide tiles' halos are smaller; two of the narrow ones fit on a multiprocessor, where one's work fills the other's waits.
Tiling tiling_of(const Problem& p, const cuda_abi::Device& device) {
    if (sums_doubles(p)) {
        Cost cost = is_integer(p.dtype) && is_integer(p.output_dtype) ? kWholeDoubleCost : kDoubleCost;
        cost.tile *= std::max(device.single_to_double, 1) / kDoubleCostRatio;
        Tiling tiling = tiling_of<8, 1>(p, device, cost);
        tiling.kernel = ft::kernel_of_doubles();
        return tiling;
    }
    Tiling narrow = tiling_of<8, 2>(p, device, kNarrowCost);
    Tiling wide = tiling_of<16, 1>(p, device, kWideCost);
    narrow.kernel = kernel_of<8, 2, 0>(p);
    wide.kernel = kernel_of<16, 1, 3>(p);
    return wide.seconds < narrow.seconds && wide.shared_bytes <= shared_limit(device) - 1024 ? wide : narrow;
}

// What sums of integers in double may be off by on their way to integers of 8 or 16 bits, in units of outputs: 1.1 10^-14, more
// than 26 levels' roundings (docs/numerics.md) and those around them, of the L2 norms of a tile, at most, and of a mask. 0: sums of
// others.
double undecided_of(const Prepared& prepared) {
    const Problem& p = prepared.problem;
    const bool are_integers = is_integer(p.dtype) && is_integer(p.output_dtype) && p.output_dtype != kBoolean;
    if (!sums_doubles(p) || !are_integers || stored_bytes(p.output_dtype) > 2 || p.has_clamp) { return 0; }
    constexpr double kError = 1.1e-14;
    constexpr double kMost = 1 << 30;  // sums are counted in 32 bits
    const double largest = std::max(std::ldexp(1.0, 8 * stored_bytes(p.dtype)), std::abs(p.constant.real()));
    const auto* const taps = static_cast<const double*>(prepared.given.taps);
    double squares = 0;  // of the mask that has the largest
    double magnitude = 0;
    for (std::int64_t mask = 0; mask < p.filters; ++mask) {
        const double* const from = taps + mask * p.taps();
        squares = std::max(squares, std::inner_product(from, from + p.taps(), from, 0.0));
        magnitude = std::max(
            magnitude, std::accumulate(from, from + p.taps(), 0.0, [](double sum, double tap) { return sum + std::abs(tap); }));
    }
    if (!(std::abs(p.scale) * magnitude * largest + std::abs(p.bias) < kMost)) { return 0; }
    const double samples = ft::kRows * ft::Shape<8>::kColumns;
    return kError * std::abs(p.scale) * largest * std::sqrt(samples * squares);
}

class ImageFft final : public Rung {
public:
    static constexpr Head kHead{"07", "image_fft", "", R"(
Idea: A tile and its halo are transformed in shared memory, multiplied by the mask's spectrum and transformed back: the work of a
tile does not depend on the mask. Threads transform 32 points in registers; two barriers a tile.
Changed: some 112 instructions a point of a tile, which is two pixels, instead of a product for each tap
Requires: f32 or f64, or real pixels of 8 or 16 bits, f32 or f64 taps; mask sides of at most 97; 66 KB of shared memory, of f64 taps
131; not under strict accuracy
Limited by: instructions, two thirds of what can be issued, and halos that give no outputs
)"};

    ImageFft()
        : Rung(kHead, {.source = "src/cuda/families/image_fft/image_fft.cuh",
                       .rank = 2,
                       .takes_pieces = 1,
                       .is_local = 0,
                       .truncates = 1}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        const bool is_narrow = !is_complex(p.dtype) && stored_bytes(p.dtype) <= 2;
        if (!(p.taps_dtype == kF32 && (p.dtype == kF32 || is_narrow)) &&
            !(sums_doubles(p) && (p.dtype == kF64 || (is_narrow && is_integer(p.dtype))))) {
            return "takes real pixels of 8 or 16 bits or of their taps' type, f32 or f64";
        }
        if (sums_doubles(p) && !p.taps_finite) { return "takes masks that are not finite with f32 taps only"; }
        if (sums_doubles(p) && (p.x.k == 1 || p.y.k == 1)) { return "takes masks of one row or one column with f32 taps only"; }
        if (!sums_doubles(p) && p.overflow == Overflow::truncate) { return "cuts off sums of f64 only"; }
        if (!p.taps_finite && (!image_direct_rung::has_exact(p) || !p.has_packed_pixels())) {
            return "takes masks that are not finite with other pixels only";
        }
        if (p.accuracy == Accuracy::strict) {
            return "a transform's errors are those of its whole tile: not under strict accuracy";
        }
        if (p.y.k > ft::kMostMask || p.x.k > ft::kMostMask) {
            return "takes mask sides of at most " + std::to_string(ft::kMostMask);
        }
        if (tiling_of(p, device).shared_bytes > shared_limit(device) - 1024) { return "its tile does not fit in shared memory"; }
        if (p.channels.length > 64 || p.filters > 64) { return "takes one channel at a time: at most 64"; }
        return refuse_boundaries(p);
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const double times = p.channels.length < kManyChannels ? 1 : kByManyChannels;
        const double bytes = stored_bytes(p.dtype) == 1 && !sums_doubles(p) ? kByteSeconds : 0;
        return kLaunchSeconds + bytes + times * std::max(seconds_to_move_planes(p, device), tiling_of(p, device).seconds);
    }

    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenFft>();
        if (chosen.exact != nullptr) { return {}; }
        const Problem& p = prepared.problem;
        const void* const taps = prepared.given.taps;
        if (sums_doubles(p)) { return tables_of<8, double>(p, taps); }
        return chosen.tiling.wide ? tables_of<16, float>(p, taps) : tables_of<8, float>(p, taps);
    }

    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenFft>();
        return chosen.exact != nullptr ? 1 : chosen.tiling.tiles.out_rows;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenFft>();
        const Tiling& tiling = chosen.tiling;
        if (chosen.exact != nullptr) { return "term by term: the mask holds a NaN or an infinity"; }
        return std::string("tiles of 128 x ") + (tiling.wide ? "256" : "128") + " pixels, " +
               std::to_string(tiling.tiles.out_rows) + " x " + std::to_string(tiling.tiles.out_columns) + " outputs each";
    }

    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenFft>();
        if (prepared.problem.taps_finite) {
            chosen->tiling = tiling_of(prepared.problem, prepared.device);
            chosen->tiling.tiles.undecided = undecided_of(prepared);
            load_kernel(chosen->tiling.kernel, chosen->tiling.shared_bytes, prepared.device);
        } else {
            chosen->exact = image_direct_rung::load_exact(prepared.problem);
        }
        return chosen;
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenFft>();
        if (chosen.exact != nullptr) { return image_direct_rung::launch_exact(chosen.exact, prepared, job, on_device, stream); }
        const Tiling& tiling = chosen.tiling;
        ImageArguments a = image_arguments_of(prepared, job, on_device);
        const Problem& p = prepared.problem;
        ft::Tiles tiles = tiling.tiles;
        tiles.steps = {p.x.in_stride, p.channels.in_stride, p.x.out_stride, p.channels.out_stride};
        if (job.packed != 0) {
            tiles.steps = {p.channels.length, 1, p.channels.length, 1};
            tiles.by_columns = 0;
        }
        tiles.input_type = p.dtype;
        tiles.input_bytes = stored_bytes(p.dtype);
        tiles.output_bytes = is_complex(p.output_dtype) ? 16 : stored_bytes(p.output_dtype);
        if (sums_doubles(p) && p.filters > 1) { a.mask_taps = prepared.taps_pitch_bytes / 8; }
        if (has_any_type(p)) { a.common.converts = 1; }  // from sums
        // The constant is a pixel; integers keep any.
        if (p.dtype == kF16) { a.common.constant_real = __half2float(__half(p.constant.real())); }
        if (p.dtype == kBf16) { a.common.constant_real = __bfloat162float(__nv_bfloat16(p.constant.real())); }
        const dim3 grid = image_grid_of_planes(a, tiling.tiles.out_rows, tiling.tiles.out_columns);
        launch_kernel(tiling.kernel, grid, static_cast<unsigned>(tiling.threads), tiling.shared_bytes, stream, a, tiles);
    }
};

}  // namespace

const Rung& image_fft() { return core::only<ImageFft>(); }

}  // namespace tapline::cuda
