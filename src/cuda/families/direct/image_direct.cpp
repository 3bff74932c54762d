// The direct rung for images: what it supports, how a mask is divided, how it is launched.
#include "cuda/families/direct/image_direct.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cuda/families/common/images.hpp"
#include "cuda/families/direct/image_bytes.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using image_direct_rung::kTapPadding;
using image_direct_rung::kThreads;
using image_direct_rung::kTileElements;
using image_direct_rung::kWarpsX;
using image_direct_rung::Pieces;
using image_direct_rung::SmallMask;

// One of four kernels, and what it takes.
struct ChosenDirect final : Chosen {
    image_direct_rung::ExactKernel exact = nullptr;
    image_direct_rung::SmallKernel small = nullptr;
    image_bytes_rung::Kernel bytes = nullptr;
    image_direct_rung::Kernel kernel = nullptr;
    SmallMask mask{};
    image_bytes_rung::Mask bytes_mask{};
    int outputs = 0;  // of a thread of `bytes` along a row
    Pieces pieces{};
    std::size_t shared_bytes = 0;
    int tile_rows = 1;
};

constexpr int kWindowBytes = 60 * 1024;  // of a piece: three blocks a multiprocessor, and within every device's limit
// In multiply-adds at the peak (H200, tapline ladder --image 4096x4096): a product, and an output besides, with staged windows or
// with the mask in the kernel's parameters.
constexpr double kProductCost = 1.54;
constexpr double kOutputCost = 110;
// A column of the mask, of f32 pixels; and of several channels, whose windows are wider than tiles, a product and an element of a
// window beyond its tile (H100, f32, 1001 x 13337 with 3 x 1, 9 x 1 and 1 x 3 taps 48, 54 and 54 us; 200 x 200 x 128 with 1 x 9, 9
// x 1 and 5 x 60 58, 23 and 399, 350 x 350 x 32 30, 20 and 192, 600 x 600 x 4 13, 10 and 57; 500 x 500 x 16 with 15 x 15 and 31 x
// 31 87 and 277).
constexpr double kColumnCost = 7;
constexpr double kInterleavedProductCost = 1.95;
constexpr double kBeyondCost = 20;
constexpr double kDoubleOutputCost = 60;  // of f64 (H100: 4,059 images of 29 x 66, 2 x 2 taps 66 us)
constexpr double kSmallOutputCost = 29;
// The same of pixels of 1 and 2 bytes, and what an output of another type takes besides (u8 3 x 3 37 us, with f32 outputs 76; u16 5
// x 5 65).
constexpr double kByteOutputCost = 60;
constexpr double kHalfOutputCost = 81;
constexpr double kConvertedCost = 75;
// Of small masks on bytes: a product of the kernel's own mask, and an output; times as long with several channels, and with rows
// that do not begin where a thread's bytes are whole vectors (H100, 4096 x 4096, 3 x 3 and 5 x 5 taps 22 and 45 us; 2160 x 3840 x
// 3: 51 and 97; 4095 x 4095, 3 x 3: 59).
constexpr double kBytesProductCost = 2.6;
constexpr double kBytesOutputCost = 16;
constexpr double kBytesInterleaved = 1.6;
constexpr double kBytesUnaligned = 2;
constexpr double kBytesStartSeconds = 5.5e-6;  // 31 images of 14 x 300, 3 x 1 taps: 8
constexpr std::int64_t kFewestStrips = 4;      // of a row, of which two lie at edges
constexpr double kSteppedCost = 60;            // where rows' pixels do not lie side by side
// Of a block at an edge, of which a multiprocessor holds so many; and of samples of a byte or two (H100: f32, 60,000 images of 28 x
// 28 with 5 x 5 taps 461 us, 4,000 of 64 x 64 with 3 x 3 and 9 x 9 74 and 215, f16 with 3 x 3 137; f64, 908 of 9 x 16 x 3 with 8 x
// 13 22, 1,000 of 64 x 64 with 5 x 5 63 us).
constexpr double kEdgeSeconds = 3e-6;
constexpr double kNarrowEdgeSeconds = 6e-6;
// Where lanes load down columns (H200: 20 x 599,338 u8, 2 x 1 taps, wrapped, 56 us).
constexpr double kNarrowColumnEdgeSeconds = 3e-6;
// So many more where samples of interleaved channels repeat beyond the ends of rows (H200: 511,986 x 28 x 4 f16, 2 x 21 taps,
// wrapped, 1,062 us; 7,232 x 15 x 32, 3 x 11, reflected, 74; 116,804 x 73 x 2 u16, 1 x 54, nearest, 459).
constexpr double kRepeatedChannels = 1.2;
// Times what a copy takes, besides the sums, take columns of narrow pixels of which a tile has a part (H200: 8,490 x 4,087 f16, 2 x
// 1 taps 179 us, 1,286 x 26,344 with 18 x 2 277; u8, 1,938 x 1,999 with 5 x 1 18).
constexpr double kNarrowColumns = 3.5;
constexpr double kBlocksHeld = 4;
constexpr double kRowsOfZeros = 0.1;  // times as much above and below alone (64 x 200001 with 3 x 1 taps 48 us, 101 x 133337 53)
// What a block by itself takes, which few blocks do not hide: a column of the mask, whose taps come from the L2 cache, for each
// kTapPadding rows and for those that are left, each of these, and a row of its window that is brought one element after the other
// (H100: 2 of 116 x 439 f32 with 1 x 454 taps 182 us, 98 x 319 with 54 x 67 156, 47 x 960 f16 with 6 x 851 458, 29 x 614 f16 with
// 13 x 1 9, 502 x 62 f32, nearest, with 4 x 8 12).
constexpr double kTapGroupSeconds = 0.9e-6;
constexpr double kTapColumnSeconds = 0.3e-6;
constexpr double kTapRowSeconds = 0.037e-6;
constexpr double kWindowRowSeconds = 0.03e-6;
constexpr double kSlowWindowRowSeconds = 0.13e-6;
constexpr double kStartSeconds = 1e-6;
// Of pixels of 1 and 2 bytes, times as much of what exceeds a short launch: rows that begin between words come one element after
// the other; many taps (H100, 89 images of 25 x 6,457 u8, 2 x 20 taps 159 us; 4,298 x 210 x 4 f16, 5 x 125 133).
constexpr double kShortSeconds = 5e-6;
constexpr double kMoreByElements = 0.25;
constexpr double kMoreOfManyTaps = 0.1;
constexpr std::int64_t kManyTaps = 100;
// Times as long under more rows of taps (H200, f32: 4 of 2,954 x 545, 161 x 1 taps, 174 us, 5,880 x 15 x 32, 240 x 4, 287, 9 of
// 99,998 x 23, 151 x 2, 4,631).
constexpr double kTall = 1.35;
constexpr std::int64_t kTallTaps = 128;
constexpr double kComplex = 1.15;  // times as long (H200: 46 of 5,095 x 51 complex64, 1 x 8 taps 171 us)
constexpr std::int64_t kStripElements = 32;
constexpr std::int64_t kMostSide = std::int64_t{1} << 30;
constexpr std::int64_t kMostChannels = std::int64_t{1} << 30;

int rows_of_thread(int bytes) { return bytes == 16 ? 4 : bytes == 8 ? 8 : 16; }

struct Windows {
    Pieces pieces;
    std::size_t shared_bytes;
    int tile_rows;
};

Windows windows_of(const Problem& p) {
    const int bytes = image_type_of(p, {}).bytes;
    const int vector = 16 / bytes;
    Windows w{};
    w.tile_rows = kThreads / 32 / kWarpsX * rows_of_thread(bytes);
    const std::int64_t padded = divide_up(p.y.k, kTapPadding) * kTapPadding;
    w.pieces.rows = static_cast<int>(std::min<std::int64_t>(padded, bytes == 16 ? 16 : bytes == 8 ? 32 : 64));
    w.pieces.column_taps = static_cast<int>(padded);
    const int rows = w.tile_rows + static_cast<int>(std::min<std::int64_t>(w.pieces.rows, p.y.k)) - 1;
    const std::int64_t room = kWindowBytes / (rows * bytes) - kTileElements - 2 * (vector - 1);  // elements beyond a tile's own
    w.pieces.columns = static_cast<int>(std::clamp<std::int64_t>(room / p.channels.length + 1, 1, p.x.k));
    const std::int64_t beyond = (w.pieces.columns - 1) * p.channels.length;
    w.pieces.pitch = (kTileElements + static_cast<int>(beyond) + 2 * (vector - 1)) / vector * vector;
    w.shared_bytes = static_cast<std::size_t>(rows) * w.pieces.pitch * bytes;
    return w;
}

// Outputs of the strips that a tile's warps make.
double outputs_in_strips(const Problem& p) {
    const int rows = rows_of_thread(image_type_of(p, {}).bytes);
    const auto made = static_cast<double>(divide_up(p.y.outputs, rows) * rows *
                                          divide_up(p.x.outputs * p.channels.length, kStripElements) * kStripElements);
    return made * static_cast<double>(p.batch.length);
}

// Whether samples of interleaved channels repeat beyond the ends of rows.
bool repeats_beyond(const Problem& p) {
    const bool leaves = p.x.origin > 0 || p.x.outputs - 1 + p.x.k - 1 - p.x.origin >= p.x.n;
    return leaves && p.channels.length > 1 && image_boundary(p) != kZero && image_boundary(p) != kConstant;
}

struct EdgeSeconds {
    double all, repeated;
};
// What blocks take besides whose windows reach over an edge: their elements come one by one.
EdgeSeconds edge_seconds(const Problem& p, int tile_rows, const cuda_abi::Device& device) {
    const double down = std::ceil(static_cast<double>(p.y.outputs) / tile_rows);
    const double across = std::ceil(static_cast<double>(p.x.outputs * p.channels.length) / kTileElements);
    const double edges = down * across - std::max(down - 2, 0.0) * std::max(across - 2, 0.0);
    const double at_sides = down * std::min(across, 2.0);
    const bool is_narrow = stored_bytes(p.dtype) < 4;
    const double each = !is_narrow ? kEdgeSeconds : goes_down_columns(p) ? kNarrowColumnEdgeSeconds : kNarrowEdgeSeconds;
    const double zeros = image_boundary(p) == kZero && stored_bytes(p.dtype) >= 4 ? kRowsOfZeros : 1;
    // Elements of a window's row, of which a few hundred are in the figures above (H200, 340 images of 10 x 17 x 32 f32, 6 x 15
    // taps 97 us).
    const double row = kTileElements + static_cast<double>((p.x.k - 1) * p.channels.length);
    const double wider = p.channels.length > 1 ? std::max(row / (2 * kTileElements), 1.0) : 1;
    const double times = each * wider * static_cast<double>(p.batch.length) / (kBlocksHeld * std::max(device.multiprocessors, 1));
    return {(at_sides + (edges - at_sides) * zeros) * times, repeats_beyond(p) ? kRepeatedChannels * at_sides * times : 0};
}

// What blocks take from their starts to their ends, of which a multiprocessor holds as many as have room.
double block_seconds(const Problem& p, const Windows& w, const cuda_abi::Device& device) {
    const double columns = static_cast<double>(p.x.k);
    const auto groups = static_cast<double>(p.y.k / kTapPadding);
    const auto left = static_cast<double>(p.y.k % kTapPadding);
    const double summing = columns * (kTapGroupSeconds * groups + (left > 0 ? kTapColumnSeconds + kTapRowSeconds * left : 0));
    const auto pieces = static_cast<double>(divide_up(p.y.k, w.pieces.rows));
    const double rows = pieces * (w.tile_rows - 1) + static_cast<double>(p.y.k);
    const bool slow = stored_bytes(p.dtype) < 4 || !p.has_packed_pixels() || image_boundary(p) != kZero;
    const auto across = static_cast<double>(divide_up(p.x.k, w.pieces.columns));
    const double held =
        std::clamp(std::floor(static_cast<double>(shared_limit(device)) / static_cast<double>(w.shared_bytes)), 1.0, kBlocksHeld);
    const double blocks = std::ceil(static_cast<double>(p.y.outputs) / w.tile_rows) *
                          std::ceil(static_cast<double>(p.x.outputs * p.channels.length) / kTileElements) *
                          static_cast<double>(p.batch.length);
    return (summing + rows * across * (slow ? kSlowWindowRowSeconds : kWindowRowSeconds)) *
           std::max(blocks / (held * std::max(device.multiprocessors, 1)), 1.0);
}

// The products of an output, in multiply-adds.
double cost_of_sum(const Problem& p, double products, int tile_rows) {
    const auto columns = static_cast<double>(p.x.k);
    const double taller = 1 + static_cast<double>(p.y.k - 1) / tile_rows;
    const auto channels = static_cast<double>(p.channels.length);
    const double beyond = channels == 1 ? 0 : taller * (columns - 1) * channels / kTileElements;
    const double of_columns = p.dtype == kF32 ? kColumnCost * columns : 0;  // what others' outputs take was measured with them
    return (channels == 1 ? kProductCost : kInterleavedProductCost) * products + of_columns + kBeyondCost * beyond;
}

// The constant of an integer image must be a pixel's value to stand in a window.
bool constant_is_a_pixel(const Problem& p) {
    if (!is_pixel_type(p.dtype) || image_boundary(p) != kConstant) { return true; }
    const double c = p.constant.real();
    return c >= 0 && c <= (p.dtype == kU8 ? 255 : 65535) && c == std::floor(c);
}

class ImageDirect final : public Rung {
public:
    static constexpr Head kHead{"04", "image_direct", "", R"(
Idea: A thread makes a strip of outputs, one below the other, from a window that slides down a column in registers; lanes lie side
by side, and a step of one tap along a row is `channels` elements: any number of channels costs the same.
Changed: A value loaded from shared memory feeds up to 16 products; small masks come with the kernel's parameters and are operands
of the products themselves; boundary rules apply while loading.
Requires: Nothing: every type, size, boundary and mask.
Limited by: Memory up to 7 x 7 taps (f32), then multiply-adds.
)"};

    ImageDirect() : Rung(kHead, {.source = "src/cuda/families/direct/image_direct.cuh", .rank = 2, .takes_pieces = 1}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device&) const override {
        if (p.y.k > kMostSide || p.x.k > kMostSide || p.channels.length > kMostChannels) {
            return "counts the mask's rows and columns and the channels in 30 bits";
        }
        return refuse_stepped_image(p);
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Type type = image_type_of(p, device);
        if (const auto bytes = bytes_of(p); bytes.kernel != nullptr) {
            const bool aligned = p.y.out_stride % image_bytes_rung::outputs_of_thread(bytes.mask) == 0;
            const double computing = 2 * image_outputs(p) * (kBytesProductCost * bytes.mask * bytes.mask + kBytesOutputCost) *
                                     (p.channels.length > 1 ? kBytesInterleaved : 1) * (aligned ? 1 : kBytesUnaligned);
            return kLaunchSeconds + kBytesStartSeconds + std::max(seconds_to_move(p, device), computing / device.peak_flops);
        }
        const double products = static_cast<double>(p.taps()) * type.products;
        const double besides = small_mask(p)     ? kSmallOutputCost
                               : type.bytes == 1 ? kByteOutputCost
                               : type.bytes == 2 ? kHalfOutputCost
                               : p.dtype == kF64 ? kDoubleOutputCost
                                                 : kOutputCost;
        const bool by_columns = !p.has_packed_pixels() && goes_down_columns(p);
        const bool side_by_side = by_columns || std::abs(p.x.in_stride) == 1;
        const bool is_stepped = !p.has_packed_pixels() && (!side_by_side || p.dtype == kF64);
        const double converting = (p.dtype == p.output_dtype ? 0 : kConvertedCost) + (is_stepped ? kSteppedCost : 0);
        const Windows windows = windows_of(p);
        const double summing = small_mask(p) ? kProductCost * products : cost_of_sum(p, products, windows.tile_rows);
        const double computing = 2 * outputs_in_strips(p) * (summing + besides + converting) / (type.rate * device.peak_flops);
        const double moving = p.has_packed_pixels() ? seconds_to_move(p, device) : seconds_to_move_planes(p, device);
        const bool in_parts = by_columns && type.bytes <= 2 && p.y.n > windows.tile_rows;
        const EdgeSeconds edges = edge_seconds(p, windows.tile_rows, device);
        const double together = edges.all + (in_parts ? kNarrowColumns * moving + computing : std::max(moving, computing));
        const double alone = small_mask(p) ? 0 : block_seconds(p, windows, device);
        const double times = p.dtype == kComplex64 ? kComplex : p.dtype == kF32 && p.y.k > kTallTaps ? kTall : 1;
        const double seconds = kLaunchSeconds + kStartSeconds + times * (std::max(together, alone) + edges.repeated);
        const bool by_words = p.has_packed_pixels() && p.y.in_stride * type.bytes % 4 == 0;
        const double more = type.bytes > 2 || by_columns ? 0
                            : !by_words                  ? kMoreByElements
                            : p.taps() > kManyTaps       ? kMoreOfManyTaps
                                                         : 0;
        return seconds + more * std::max(seconds - kShortSeconds, 0.0);
    }

    // Column by column, for strips that run down columns.
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenDirect>();
        if (chosen.kernel == nullptr) { return {}; }
        const auto bytes = static_cast<std::size_t>(image_type_of(p, prepared.device).tap_bytes);
        const auto height = static_cast<std::size_t>(p.y.k);
        const auto width = static_cast<std::size_t>(p.x.k);
        const auto column = static_cast<std::size_t>(chosen.pieces.column_taps);
        std::vector<std::byte> to(static_cast<std::size_t>(p.filters) * width * column * bytes);
        const auto* from = static_cast<const std::byte*>(prepared.given.taps);
        for (std::size_t mask = 0; mask < static_cast<std::size_t>(p.filters); ++mask) {
            for (std::size_t i = 0; i < height; ++i) {
                for (std::size_t j = 0; j < width; ++j, from += bytes) {
                    std::memcpy(to.data() + ((mask * width + j) * column + i) * bytes, from, bytes);
                }
            }
        }
        return to;
    }

    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenDirect>();
        if (chosen.exact != nullptr) { return "term by term: terms outside the image stay absent"; }
        if (chosen.bytes != nullptr) { return "strips of " + std::to_string(chosen.outputs) + " pixels a thread"; }
        return "tiles of " + std::to_string(chosen.tile_rows) + " rows of " + std::to_string(kTileElements) + " elements";
    }

    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenDirect>();
        if ((image_boundary(p) == kZero && !p.taps_finite) || !constant_is_a_pixel(p)) {
            chosen->exact = image_direct_rung::load_exact(p);
        } else if (const auto bytes = bytes_of(p); bytes.kernel != nullptr) {
            chosen->bytes = bytes.kernel;
            chosen->outputs = image_bytes_rung::outputs_of_thread(bytes.mask);
            for (std::int64_t i = 0; i < p.y.k; ++i) {
                std::copy_n(static_cast<const float*>(prepared.given.taps) + i * p.x.k, p.x.k,
                            chosen->bytes_mask.taps + i * bytes.mask);
            }
            load_kernel(chosen->bytes);
        } else if (small_mask(p)) {
            chosen->small = image_direct_rung::small_kernel_of(static_cast<int>(p.x.k));
            chosen->tile_rows = image_direct_rung::kSmallTileRows;
            chosen->shared_bytes =
                static_cast<std::size_t>(chosen->tile_rows + p.y.k - 1) * image_direct_rung::kSmallPitch * sizeof(float);
            std::copy_n(static_cast<const float*>(prepared.given.taps), p.taps(), chosen->mask.taps);
            load_kernel(chosen->small, chosen->shared_bytes, prepared.device);
        } else {
            const Windows windows = windows_of(p);
            chosen->kernel = image_direct_rung::kernel_of(p.dtype, p.taps_dtype);
            chosen->tile_rows = windows.tile_rows;
            chosen->pieces = windows.pieces;
            chosen->shared_bytes = windows.shared_bytes;
            load_kernel(chosen->kernel, chosen->shared_bytes, prepared.device);
        }
        return chosen;
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenDirect>();
        if (chosen.exact != nullptr) { return image_direct_rung::launch_exact(chosen.exact, prepared, job, on_device, stream); }
        ImageArguments a = image_arguments_of(prepared, job, on_device);
        if (chosen.bytes != nullptr) { return launch_bytes(chosen, a, prepared.device, stream); }
        const dim3 grid = image_grid(a, chosen.tile_rows, kTileElements);
        if (chosen.small != nullptr) {
            return launch_kernel(chosen.small, grid, kThreads, chosen.shared_bytes, stream, a, chosen.mask);
        }
        a.taps = on_device.tables;
        a.mask_taps = prepared.problem.filters > 1 ? prepared.problem.x.k * chosen.pieces.column_taps : 0;
        launch_kernel(chosen.kernel, grid, kThreads, chosen.shared_bytes, stream, a, chosen.pieces);
    }

private:
    static image_bytes_rung::Chosen bytes_of(const Problem& p) {
        const bool taken = p.dtype == kU8 && p.output_dtype == kU8 && p.filters == 1 && p.has_packed_pixels() &&
                           p.x.n * p.channels.length <= kMostSide;
        if (!taken) { return {}; }
        const image_bytes_rung::Chosen bytes = image_bytes_rung::kernel_of(p.y.k, p.x.k, p.channels.length);
        const std::int64_t fewest = kFewestStrips * image_bytes_rung::outputs_of_thread(bytes.mask);
        return p.x.outputs * p.channels.length >= fewest ? bytes : image_bytes_rung::Chosen{};
    }

    // The longest strips that leave each multiprocessor two blocks, but not longer than what makes their first rows cheap.
    static void launch_bytes(const ChosenDirect& chosen, const ImageArguments& a, const cuda_abi::Device& device,
                             cudaStream_t stream) {
        image_bytes_rung::Strips strips{};
        strips.across = divide_up(a.out_elements, chosen.outputs);
        for (strips.rows = 32; strips.rows >= 4; strips.rows /= 2) {
            strips.down = divide_up(a.rows, strips.rows);
            strips.all = strips.across * strips.down * a.images;
            if (strips.all >= std::int64_t{2} * image_bytes_rung::kThreads * device.multiprocessors * 9 / 10) { break; }
        }
        strips.rows = std::max(strips.rows, 4);
        const std::int64_t blocks = divide_up(strips.all, image_bytes_rung::kThreads);
        if (blocks > kMostBlocks) { refuse_launch(); }
        launch_kernel(chosen.bytes, static_cast<unsigned>(blocks), image_bytes_rung::kThreads, 0, stream, a, chosen.bytes_mask,
                      strips);
    }

    static bool small_mask(const Problem& p) {
        if (p.dtype != kF32 || p.filters != 1 || p.y.k != p.x.k || p.x.k > image_direct_rung::kMostSmall) { return false; }
        const std::int64_t elements = kTileElements + (p.x.k - 1) * p.channels.length + 6;  // of a window's row, whatever its lead
        return image_direct_rung::small_kernel_of(static_cast<int>(p.x.k)) != nullptr && elements <= image_direct_rung::kSmallPitch;
    }
};

}  // namespace

namespace image_direct_rung {

bool has_exact(const Problem& p) { return !is_integer(p.dtype) || p.dtype == Dtype::u8 || p.dtype == Dtype::u16; }

ExactKernel load_exact(const Problem& problem) {
    const ExactKernel kernel = exact_kernel_of(problem.dtype, problem.taps_dtype);
    load_kernel(kernel);
    return kernel;
}

void launch_exact(ExactKernel kernel, const Prepared& prepared, const Job& job, const OnDevice& on_device, cudaStream_t stream) {
    ImageArguments a = image_arguments_of(prepared, job, on_device);
    const dim3 grid = image_grid(a, 1, kThreads);
    launch_kernel(kernel, grid, kThreads, 0, stream, a);
}

}  // namespace image_direct_rung

const Rung& image_direct() { return core::only<ImageDirect>(); }

}  // namespace tapline::cuda
