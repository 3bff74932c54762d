// The separable rung: what it supports, what it costs, which of its kernels a mask gets.
#include "cuda/families/separable/separable_launch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cuda/families/common/images.hpp"
#include "cuda/families/separable/separable_halves.hpp"

namespace tapline::cuda {

bool image_halves_rung::is_one_column(const Problem& p) {
    return p.x.k == 1 && p.x.origin == 0 && p.x.outputs == p.x.n && p.y.k > kPassTaps && !p.taps_come_later && p.taps_finite;
}

namespace image_separable_rung {
namespace {

namespace halves = image_halves_rung;

constexpr int kPadding = 4;  // taps of a factor: 16 bytes
constexpr int kTileRows[] = {64, 48, 32, 16};
constexpr int kUsualRows = 32;  // more do not save enough of the halo
constexpr std::int64_t kMostMask = 512;
// In multiply-adds at the peak (H200, tapline ladder --image 4096x4096 --separable): a product, a pass of a rank, an output
// besides.
constexpr double kProductCost = 2.37;
constexpr double kRankCost = 70;
constexpr double kOutputCost = 53;
// Times as long with so many channels that a thread has a pixel's own (H200, 1,141 x 8 x 80 pixels of 32 channels, 2 x 14 taps: 769
// us).
constexpr std::int64_t kManyChannels = 9;
constexpr double kByManyChannels = 2;
// Of a block that has a multiprocessor to itself (H100, 512 x 512 pixels: 49 x 49 and 81 x 81 taps 43 and 81 us).
constexpr double kAloneCost = 2.4;
// An output of the marching kernel on tensor cores with kLeastRowSteps, .. kMostRowSteps.
constexpr double kTensorCost[] = {94, 117, 125};
constexpr double kHalvesCost[] = {99, 87};  // of the one with halves: of one channel, of three
// A step of all blocks that a multiprocessor holds, with halves and many taps, in seconds: for each 16 taps along rows and down
// columns, and besides. H100, 4096 x 4096 with 49 x 49, 81 x 81 and 101 x 101 taps 88, 120 and 148 us, with 49 and 81 in a column
// 56 and 61; 1024 x 1024 with 49 x 49 16 us, with 49 and 81 in a column 11 and 15.
constexpr double kManyOwnSeconds = 0.15e-6;
constexpr double kManyRowSeconds = 0.24e-6;
constexpr double kManyColumnSeconds = 0.13e-6;
// The same of the marching kernel.
constexpr double kMarchProductCost = 1.4;
constexpr double kMarchOutputCost = 60;
constexpr double kMarchLeastCost = 86;  // with small masks it waits for its loads

}  // namespace

int threads_of(const Problem& p) {
    constexpr int kThreadsOne = 256;  // with one channel
    return p.channels.length == 1 ? kThreadsOne : kMostThreads;
}

std::size_t tile_bytes(const Layout& g, const Problem& p) {
    const std::int64_t rows = g.tile_rows + p.y.k - 1 + (g.rank == 1 ? 0 : g.tile_rows);
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(g.pitch) * sizeof(float);
}

// tile_rows = 0: no tile fits in shared memory.
Layout layout_of(const Problem& p, const cuda_abi::Device& device) {
    Layout g{};
    const int channels = static_cast<int>(p.channels.length);
    g.lanes = channels == 1 ? 8 : channels <= 4 ? 4 : channels <= 8 ? 2 : 1;
    g.tile_pixels = g.lanes * (channels == 1 ? kAcrossOne : kAcrossMany);
    g.tile_elements = g.tile_pixels * channels;
    g.plane = g.tile_pixels + static_cast<int>(p.x.k) - 1;
    if (channels > 1 && channels <= 4) {  // planes begin a 1 / channels of the banks apart, for lanes that go over them in turn
        const int apart = (32 + channels - 1) / channels;
        g.plane += std::min((apart - g.plane % 32 + 32) % 32, (64 - apart - g.plane % 32) % 32);
    }
    g.pitch = (channels * g.plane) | 1;
    g.rank = p.separable;
    g.padded_height = static_cast<int>(divide_up(p.y.k, kPadding) * kPadding);
    g.padded_width = static_cast<int>(divide_up(p.x.k, kPadding) * kPadding);
    const std::size_t limit = shared_limit(device);
    for (const std::size_t blocks : {3, 2, 1}) {  // of a multiprocessor
        const std::size_t room = limit / blocks - kReservedBytes;
        for (const int rows : kTileRows) {
            g.tile_rows = rows;
            const bool held = g.rank == 1 || rows * channels * g.lanes <= kHeldStrips * threads_of(p);
            const bool tall = blocks == 1 || 2 * rows >= p.y.k - 1;
            if (rows <= (blocks == 1 ? rows : kUsualRows) && held && tall && tile_bytes(g, p) <= room) { return g; }
        }
    }
    g.tile_rows = 0;
    return g;
}

std::size_t march_bytes(const March& g) {
    const int floats = kSide * g.window_pitch + g.ring_rows * kRingPitch + g.window_columns;
    return static_cast<std::size_t>(floats) * sizeof(float);
}

// All of it but the segments and the taps.
March march_of(const Problem& p) {
    March g{};
    const int channels = static_cast<int>(p.channels.length);
    const int height = static_cast<int>(p.y.k);
    const int width = static_cast<int>(p.x.k);
    g.window_columns = kColumns + (width - 1) * channels;
    const int readable = kColumns + (width + 3) / 4 * 4 * channels;  // multiples of 4 taps are loaded
    g.window_pitch = (readable + 3) / 8 * 8 + 4;
    g.ring_rows = (kSide + height - 1 + kSection - 1) / kSection * kSection;
    return g;
}

namespace {

// What all marching kernels ask for: they count the elements of a row in 31 bits.
bool has_strips(const Problem& p) {
    constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;
    return p.channels.length <= kMostChannels &&
           std::max({p.x.n * p.channels.length, p.y.out_stride, p.y.in_stride}) <= kMostElements &&
           std::min(p.y.out_stride, p.y.in_stride) >= 0;
}

}  // namespace

// Whether the marching kernel does it: its taps are unrolled.
bool marches(const Problem& p, const cuda_abi::Device& device) {
    return p.separable == 1 && has_strips(p) && p.y.k <= kPassTaps && p.x.k <= kPassTaps &&
           march_bytes(march_of(p)) + kReservedBytes <= shared_limit(device);
}

double halo_rows_of(std::int64_t mask_height) {
    constexpr double kHaloCost = 0.6;
    constexpr double kStartRows = 8;
    return kHaloCost * static_cast<double>(mask_height - 1) + kStartRows;
}

Segments segments_of(const Strips& s, const cuda_abi::Device& device) {
    constexpr std::int64_t kMostRounds = 4;  // of segments that do not all run at once
    const auto held = static_cast<std::int64_t>(shared_limit(device) / (s.bytes + kReservedBytes));
    const std::int64_t at_once = device.multiprocessors * std::clamp<std::int64_t>(held, 1, s.most_held);
    const std::int64_t steps = divide_up(s.rows, kSide);
    std::int64_t best = steps;
    double least = HUGE_VAL;
    for (std::int64_t rounds = 1; rounds <= kMostRounds; ++rounds) {
        const std::int64_t segments = std::clamp<std::int64_t>(rounds * at_once / s.strips, 1, steps);
        const std::int64_t length = divide_up(steps, segments);
        const auto needed = static_cast<double>(divide_up(s.strips * divide_up(steps, length), at_once));
        const auto rows = static_cast<double>(length * kSide);
        const double cost = needed * (rows + s.halo_rows) + s.unevenness * rows;
        if (cost < least) {
            least = cost;
            best = length;
        }
    }
    return {static_cast<int>(std::min(best * kSide, kFar)), least};
}

// Row steps of the kernel on tensor cores: enough for the row, and for the column with one less.
int tensor_steps_of(const Problem& p) {
    return std::max({row_steps_of(static_cast<int>(p.x.k)), column_steps_of(static_cast<int>(p.y.k)) + 1, kLeastRowSteps});
}

namespace {

double march_cost(const Problem& p) {
    return std::max(kMarchLeastCost, kMarchProductCost * static_cast<double>(p.y.k + p.x.k) + kMarchOutputCost);
}
double tensor_cost(const Problem& p) { return kTensorCost[tensor_steps_of(p) - kLeastRowSteps]; }
double halves_cost(const Problem& p) { return kHalvesCost[p.channels.length == 1 ? 0 : 1]; }

}  // namespace

// Whether the march is done on tensor cores: those of other chips do no more TF32 products than plain ones, and interleaved
// channels leave registers for too few warps (detours.md).
bool on_tensor_cores(const Problem& p, const cuda_abi::Device& device) {
    return marches(p, device) && p.channels.length == 1 && device.major == 9 && tensor_cost(p) < march_cost(p);
}

// Whether it is done with halves. Rows that do not begin on 16 bytes take twice as long (1,023 x 1,021 pixels 28 us, 15 otherwise).
bool on_halves(const Problem& p, const cuda_abi::Device& device) {
    const auto taps = static_cast<int>(std::max(p.y.k, p.x.k));
    return marches(p, device) && (p.channels.length == 1 || p.channels.length == 3) && p.y.in_stride % 4 == 0 &&
           device.major == 9 && halves::steps_of(taps) == halves::kFewSteps && halves_cost(p) < march_cost(p);
}

namespace {

double march_seconds(const Problem& p, const cuda_abi::Device& device) {
    const double cost = on_halves(p, device) ? halves_cost(p) : on_tensor_cores(p, device) ? tensor_cost(p) : march_cost(p);
    return kLaunchSeconds + std::max(seconds_to_move(p, device), 2 * cost * image_outputs(p) / device.peak_flops);
}

// Seconds in tiles; infinite: none fits in shared memory.
double tile_seconds(const Problem& p, const cuda_abi::Device& device) {
    if (p.separable < 1 || p.y.k > kMostMask || p.x.k > kMostMask) { return HUGE_VAL; }
    const Layout g = layout_of(p, device);
    if (g.tile_rows == 0) { return HUGE_VAL; }
    const double halo = 1 + static_cast<double>(p.x.k - 1) / g.tile_pixels;
    const double products = static_cast<double>(p.y.k) * halo + static_cast<double>(p.x.k);
    const double cost = p.separable * (kProductCost * products + kRankCost) + kOutputCost;
    // Whole tiles; few of them leave multiprocessors alone, and a block by itself hides little.
    const auto blocks = static_cast<double>(divide_up(p.y.outputs, g.tile_rows) *
                                            divide_up(p.x.outputs * p.channels.length, g.tile_elements) * p.batch.length);
    const double outputs = std::max(blocks, kAloneCost * device.multiprocessors) * g.tile_rows * g.tile_elements;
    const double times = p.channels.length < kManyChannels ? 1 : kByManyChannels;
    return kLaunchSeconds + std::max(seconds_to_move(p, device), 2 * times * cost * outputs / device.peak_flops);
}

// Steps of the kernel with halves for many taps, windows of rows beginning on 16 bytes; more than there are kernels for, where it
// does not take the problem.
int many_steps_of(const Problem& p, const cuda_abi::Device& device) {
    constexpr int kNone = halves::kMostSteps + 1;
    if (!has_strips(p) || p.channels.length != 1 || p.y.in_stride % 4 != 0 || device.major != 9) { return kNone; }
    if (p.separable != 1 && !halves::is_one_column(p)) { return kNone; }
    if (std::max(p.y.k, p.x.k) > halves::kMostTaps) { return kNone; }
    const std::int64_t lead = halves::is_one_column(p) ? 0 : ((-p.x.origin) % 4 + 4) % 4;
    const int steps = halves::steps_of(static_cast<int>(std::max(p.y.k, p.x.k + lead)));
    return std::max(steps, halves::kFewSteps + 1);
}

// What it marches down.
template <class Shape>
Strips many_strips(const Problem& p, int steps) {
    Strips s{};
    s.strips = divide_up(p.x.outputs, Shape::kPixels) * p.batch.length;
    s.rows = p.y.outputs;
    s.bytes = Shape::kBytes;
    s.most_held = Shape::kBlocks;
    s.halo_rows = halves::halo_rows_of(steps);
    return s;
}

double many_halves_seconds(const Problem& p, const cuda_abi::Device& device) {
    const int steps = many_steps_of(p, device);
    if (steps > halves::kMostSteps) { return HUGE_VAL; }
    const bool is_column = halves::is_one_column(p);
    const Strips strips = is_column                      ? many_strips<halves::HalvesShape<halves::kMostSteps, 1, 3, 1>>(p, steps)
                          : steps <= halves::kMostNarrow ? many_strips<halves::HalvesShape<halves::kMostNarrow, 1>>(p, steps)
                                                         : many_strips<halves::HalvesShape<halves::kMostSteps, 1>>(p, steps);
    const double step = kManyOwnSeconds + kManyRowSeconds * (is_column ? 1 : steps) + kManyColumnSeconds * steps;
    return kLaunchSeconds + kColdSeconds +
           std::max(seconds_to_move(p, device), segments_of(strips, device).rows / halves::kStepRows * step);
}

}  // namespace

int many_halves_steps_of(const Problem& p, const cuda_abi::Device& device) {
    if (marches(p, device) || !(many_halves_seconds(p, device) < tile_seconds(p, device))) { return 0; }
    return many_steps_of(p, device);
}

namespace {

// Seconds of the kernel for means; infinite: it does not take the mask.
double boxes_or_never(const Problem& p, const cuda_abi::Device& device) {
    const bool is_mean = p.equal_taps && p.taps_finite && p.separable == 1;
    return is_mean && has_strips(p) && takes_boxes(p, device) ? boxes_seconds(p, device) : HUGE_VAL;
}

}  // namespace

bool on_boxes(const Problem& p, const cuda_abi::Device& device) {
    return boxes_or_never(p, device) < std::min(tile_seconds(p, device), many_halves_seconds(p, device));
}

namespace {

class ImageSeparable final : public Rung {
public:
    static constexpr Head kHead{"05", "image_separable", "", R"(
Idea: A mask of rank one is a column times a row. Up to 32 x 32 taps, and 113 x 113 of one channel on tensor cores, a block
marches down a strip: rows are filtered into a ring in shared memory, the ring into rows of outputs; on tensor cores from
registers to registers; where all taps are the same it adds runs up, a few additions an output. Else, and as a sum of 2 to 4 such
masks, a tile's columns are filtered in place, each by one thread, then its rows.
Changed: k_h + k_w products an output instead of k_h k_w.
Requires: f32, one mask for all channels, of rank 1 to 4, or one column of 33 to 113 taps; at most 32 channels; not under strict
accuracy.
Limited by: Multiply-adds and the loads that feed them; the passes over halos.
)"};

    ImageSeparable() : Rung(kHead, {.source = "src/cuda/families/separable/separable.cuh", .rank = 2, .takes_pieces = 1}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.dtype != kF32 || p.taps_dtype != kF32) { return "takes only f32, and real taps"; }
        if (p.filters != 1) { return "takes one mask for all channels"; }
        if ((p.separable < 1 || p.separable > kMostRank) && !halves::is_one_column(p)) {
            return "the mask is no sum of a few products of a column and a row";
        }
        if (p.accuracy == Accuracy::strict) { return "rounds between its passes: not under strict accuracy"; }
        if (p.channels.length > 32) { return "takes at most 32 channels"; }
        if (Refusal refusal = refuse_image(p); !refusal.empty()) { return refusal; }
        if (marches(p, device)) { return {}; }
        if (std::min({tile_seconds(p, device), many_halves_seconds(p, device), boxes_or_never(p, device)}) == HUGE_VAL) {
            return halves::is_one_column(p) ? "takes one column of up to 113 taps on devices of compute capability 9.0"
                                            : "no tile with its halo fits in shared memory";
        }
        return {};
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        if (marches(p, device)) { return march_seconds(p, device); }
        return std::min({tile_seconds(p, device), many_halves_seconds(p, device), boxes_or_never(p, device)});
    }

    // columns (rank, padded_height), rows (rank, padded_width), the mask itself. The marching kernels take their factors by value.
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        if (marches(p, prepared.device) || on_boxes(p, prepared.device) || many_halves_steps_of(p, prepared.device) != 0) {
            return {};
        }
        const auto height = static_cast<std::size_t>(p.y.k);
        const auto width = static_cast<std::size_t>(p.x.k);
        const Layout g = layout_of(p, prepared.device);
        std::vector<float> to;
        const auto append = [&to](const double* from, std::size_t count, int padded) {
            for (std::size_t i = 0; i < static_cast<std::size_t>(padded); ++i) {
                to.push_back(i < count ? static_cast<float>(from[i]) : 0.0F);
            }
        };
        for (std::size_t r = 0; r < static_cast<std::size_t>(g.rank); ++r) {
            append(prepared.given.columns + r * height, height, g.padded_height);
        }
        for (std::size_t r = 0; r < static_cast<std::size_t>(g.rank); ++r) {
            append(prepared.given.rows + r * width, width, g.padded_width);
        }
        const auto* mask = static_cast<const float*>(prepared.given.taps);
        to.insert(to.end(), mask, mask + height * width);
        std::vector<std::byte> bytes(to.size() * sizeof(float));
        std::memcpy(bytes.data(), to.data(), bytes.size());
        return bytes;
    }

    // A tile (a thread's outputs) that holds a NaN or an infinity is summed up in another order than one that does not.
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        return prepared.chosen_as<ChosenKernel>().rows_together();
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return prepared.chosen_as<ChosenKernel>().describe();
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override { return load_kernel_for(prepared); }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        prepared.chosen_as<ChosenKernel>().launch(prepared, job, on_device, stream);
    }
};

}  // namespace
}  // namespace image_separable_rung

const Rung& image_separable() { return core::only<image_separable_rung::ImageSeparable>(); }

}  // namespace tapline::cuda
