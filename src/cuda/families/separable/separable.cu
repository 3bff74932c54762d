// The separable rung: what it supports, its tiles, how it is launched.
#include "cuda/families/separable/separable.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cuda/check.hpp"
#include "cuda/families/separable/separable.cuh"
#include "cuda/families/separable/separable_halves.cuh"
#include "cuda/families/separable/separable_march.cuh"
#include "cuda/families/separable/separable_tensor.cuh"
#include "cuda/families/image_production.hpp"
#include "tapline/types.hpp"

namespace tapline::cuda {
namespace {

namespace sep = image_separable_rung;
namespace halves = image_halves_rung;
using sep::Layout;
using sep::March;
using sep::TensorMarch;

constexpr int kPadding = 4;  // taps of a factor: 16 bytes
constexpr int kTileRows[] = {64, 48, 32, 16};
constexpr int kUsualRows = 32;  // more do not save enough of the halo
constexpr std::int64_t kMostMask = 512;
constexpr int kThreadsOne = 256;              // with one channel
constexpr std::size_t kReservedBytes = 1024;  // of each block, by the system
// In multiply-adds at the peak (H200, tapline ladder --image 4096x4096 --separable): a product, a pass of a rank, an output
// besides.
constexpr double kProductCost = 2.37;
constexpr double kRankCost = 70;
constexpr double kOutputCost = 53;
// An output of the marching kernel on tensor cores with kLeastRowSteps, .. kMostRowSteps.
constexpr double kTensorCost[] = {94, 117, 125};
constexpr double kHalvesCost[] = {99, 87};  // of the one with halves: of one channel, of three
// The same of the marching kernel, and of a segment's beginning, in rows: filtering a row of the halo, starting.
constexpr double kMarchProductCost = 1.4;
constexpr double kMarchOutputCost = 60;
constexpr double kMarchLeastCost = 86;  // with small masks it waits for its loads
constexpr double kHaloCost = 0.6;
constexpr double kStartRows = 8;
constexpr double kUnevenness = 0.08;     // of the last round's rows: some blocks end later
constexpr double kTensorUnevenness = 0;  // two rounds were 11% slower than one (16384 x 16384 pixels)
constexpr std::int64_t kMostRounds = 4;  // of segments that do not all run at once

const void* kernel_of(const Layout& g, std::int64_t channels) {
    if (channels == 1) {
        return g.rank == 1 ? reinterpret_cast<const void*>(&sep::kernel<true, sep::kAcrossOne>)
                           : reinterpret_cast<const void*>(&sep::kernel<false, sep::kAcrossOne>);
    }
    return g.rank == 1 ? reinterpret_cast<const void*>(&sep::kernel<true, sep::kAcrossMany>)
                       : reinterpret_cast<const void*>(&sep::kernel<false, sep::kAcrossMany>);
}

int threads_of(const Problem& p) { return p.channels.length == 1 ? kThreadsOne : sep::kMostThreads; }

std::size_t shared_bytes(const Layout& g, const Problem& p) {
    const std::int64_t rows = g.tile_rows + p.y.k - 1 + (g.rank == 1 ? 0 : g.tile_rows);
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(g.pitch) * sizeof(float);
}

// tile_rows = 0: no tile fits in shared memory.
Layout layout_of(const Problem& p, const cuda_abi::Device& device) {
    Layout g{};
    const int channels = static_cast<int>(p.channels.length);
    g.lanes = channels == 1 ? 8 : channels <= 4 ? 4 : channels <= 8 ? 2 : 1;
    g.tile_pixels = g.lanes * (channels == 1 ? sep::kAcrossOne : sep::kAcrossMany);
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
            const bool held = g.rank == 1 || rows * channels * g.lanes <= sep::kHeldStrips * threads_of(p);
            const bool tall = blocks == 1 || 2 * rows >= p.y.k - 1;
            if (rows <= (blocks == 1 ? rows : kUsualRows) && held && tall && shared_bytes(g, p) <= room) { return g; }
        }
    }
    g.tile_rows = 0;
    return g;
}

std::size_t march_bytes(const March& g) {
    const int floats = sep::kSide * g.window_pitch + g.ring_rows * sep::kRingPitch + g.window_columns;
    return static_cast<std::size_t>(floats) * sizeof(float);
}

// All of it but the segments and the taps.
March march_of(const Problem& p) {
    March g{};
    const int channels = static_cast<int>(p.channels.length);
    const int height = static_cast<int>(p.y.k);
    const int width = static_cast<int>(p.x.k);
    g.window_columns = sep::kColumns + (width - 1) * channels;
    const int readable = sep::kColumns + (width + 3) / 4 * 4 * channels;  // multiples of 4 taps are loaded
    g.window_pitch = (readable + 3) / 8 * 8 + 4;
    g.ring_rows = (sep::kSide + height - 1 + sep::kSection - 1) / sep::kSection * sep::kSection;
    return g;
}

// Whether the marching kernel does it: its taps are unrolled, and it counts the elements of a row in 31 bits.
bool marches(const Problem& p, const cuda_abi::Device& device) {
    constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;
    return p.separable == 1 && p.channels.length <= sep::kMostChannels && p.y.k <= kPassTaps && p.x.k <= kPassTaps &&
           std::max({p.x.n * p.channels.length, p.y.out_stride, p.y.in_stride}) <= kMostElements &&
           march_bytes(march_of(p)) + kReservedBytes <= shared_limit(device);
}

// Row steps of the kernel on tensor cores: enough for the row, and for the column with one less.
int tensor_steps_of(const Problem& p) {
    return std::max({sep::row_steps_of(static_cast<int>(p.x.k)), sep::column_steps_of(static_cast<int>(p.y.k)) + 1,
                     sep::kLeastRowSteps});
}

double march_cost(const Problem& p) {
    return std::max(kMarchLeastCost, kMarchProductCost * static_cast<double>(p.y.k + p.x.k) + kMarchOutputCost);
}
double tensor_cost(const Problem& p) { return kTensorCost[tensor_steps_of(p) - sep::kLeastRowSteps]; }

// Whether the march is done on tensor cores: those of other chips do no more TF32 products than plain ones, and interleaved
// channels leave registers for too few warps (detours.md).
bool on_tensor_cores(const Problem& p, const cuda_abi::Device& device) {
    return marches(p, device) && p.channels.length == 1 && device.major == 9 && tensor_cost(p) < march_cost(p);
}

double halves_cost(const Problem& p) { return kHalvesCost[p.channels.length == 1 ? 0 : 1]; }

// Whether it is done with halves. Rows that do not begin on 16 bytes take twice as long (1,023 x 1,021 pixels 28 us, 15 otherwise).
bool on_halves(const Problem& p, const cuda_abi::Device& device) {
    const auto taps = static_cast<int>(std::max(p.y.k, p.x.k));
    return marches(p, device) && (p.channels.length == 1 || p.channels.length == 3) && p.y.in_stride % 4 == 0 && device.major == 9 &&
           halves::steps_of(taps) == halves::kSteps && halves_cost(p) < march_cost(p);
}

// The rows that a block does, a strip of `columns` elements: so many that all blocks run at once, or else in few rounds. The halo's
// rows are filtered only along themselves.
int segment_rows_of(const ImageArguments& a, int columns, std::size_t bytes, int most_held, double unevenness,
                    const cuda_abi::Device& device) {
    const auto held = static_cast<std::int64_t>(shared_limit(device) / (bytes + kReservedBytes));
    const std::int64_t at_once = device.multiprocessors * std::clamp<std::int64_t>(held, 1, most_held);
    const std::int64_t strips = divide_up(a.out_elements, columns) * a.images;
    const std::int64_t steps = divide_up(a.rows, sep::kSide);
    std::int64_t best = steps;
    double least = HUGE_VAL;
    for (std::int64_t rounds = 1; rounds <= kMostRounds; ++rounds) {
        const std::int64_t segments = std::clamp<std::int64_t>(rounds * at_once / strips, 1, steps);
        const std::int64_t length = divide_up(steps, segments);
        const double needed = static_cast<double>(divide_up(strips * divide_up(steps, length), at_once));
        const auto rows = static_cast<double>(length * sep::kSide);
        const double cost = needed * (rows + kHaloCost * (a.mask_height - 1) + kStartRows) + unevenness * rows;
        if (cost < least) {
            least = cost;
            best = length;
        }
    }
    return static_cast<int>(std::min(best * sep::kSide, sep::kFar));
}

const void* march_kernel_of(std::int64_t channels) {
    switch (channels) {
        case 1:
            return reinterpret_cast<const void*>(&sep::march<1>);
        case 2:
            return reinterpret_cast<const void*>(&sep::march<2>);
        case 3:
            return reinterpret_cast<const void*>(&sep::march<3>);
        default:
            return reinterpret_cast<const void*>(&sep::march<4>);
    }
}

const void* tensor_kernel_of(const Problem& p) {
    switch (tensor_steps_of(p)) {
        case 4:
            return reinterpret_cast<const void*>(&sep::march_tensor<4>);
        case 5:
            return reinterpret_cast<const void*>(&sep::march_tensor<5>);
        default:
            static_assert(sep::kMostRowSteps == 6);
            return reinterpret_cast<const void*>(&sep::march_tensor<6>);
    }
}

// The kernel with halves for a mask, and its shape.
struct HalvesKernel {
    const void* entry;
    int threads, blocks, out_row;
    std::size_t bytes;
};

template <int kChannels>
HalvesKernel halves_kernel() {
    using Shape = halves::HalvesShape<halves::kSteps, kChannels>;
    return {reinterpret_cast<const void*>(&halves::march_halves<halves::kSteps, kChannels>), Shape::kThreads, Shape::kBlocks,
            Shape::kOutRow, Shape::kBytes};
}

HalvesKernel halves_kernel_of(const Problem& p) { return p.channels.length == 1 ? halves_kernel<1>() : halves_kernel<3>(); }

class ImageSeparable final : public Rung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "05";
        info.name = "image_separable";
        info.idea =
            "A mask of rank one is a column times a row. Up to 32 x 32 taps a block marches down a strip: rows are filtered into a "
            "ring "
            "in shared memory, the ring into rows of outputs; on tensor cores, where they do TF32 fast, from registers to "
            "registers. "
            "Else, and as a sum of 2 to 4 such masks, a tile's columns are "
            "filtered in "
            "place, each by one thread, then its rows.";
        info.changed = "k_h + k_w products an output instead of k_h k_w.";
        info.requirements = "f32, one mask for all channels, of rank 1 to 4; at most 32 channels; not under strict accuracy.";
        info.limited_by = "Multiply-adds and the loads that feed them; the passes over halos.";
        info.source = "src/cuda/families/separable/separable.cuh";
        info.takes_pieces = 1;
        return info;
    }

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.dtype != kF32 || p.taps_dtype != kF32) { return "takes only f32, and real taps"; }
        if (p.filters != 1) { return "takes one mask for all channels"; }
        if (p.separable < 1 || p.separable > sep::kMostRank) { return "the mask is no sum of a few products of a column and a row"; }
        if (p.accuracy == static_cast<std::int32_t>(Accuracy::strict)) {
            return "rounds between its passes: not under strict accuracy";
        }
        if (p.channels.length > 32) { return "takes at most 32 channels"; }
        if (marches(p, device)) { return {}; }
        if (p.y.k > kMostMask || p.x.k > kMostMask || layout_of(p, device).tile_rows == 0) {
            return "no tile with its halo fits in shared memory";
        }
        return {};
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        if (marches(p, device)) { return march_seconds(p, device); }
        const Layout g = layout_of(p, device);
        const double outputs =
            static_cast<double>(p.batch.length * p.channels.length) * static_cast<double>(p.y.outputs) * static_cast<double>(p.x.outputs);
        const double halo = 1 + static_cast<double>(p.x.k - 1) / g.tile_pixels;
        const double products = static_cast<double>(p.y.k) * halo + static_cast<double>(p.x.k);
        const double cost = p.separable * (kProductCost * products + kRankCost) + kOutputCost;
        return kLaunchSeconds +
               std::max(image_bytes(p) / (kShareOfCopy * device.copy_bytes_per_second), 2 * cost * outputs / device.peak_flops);
    }

    // columns (rank, padded_height), rows (rank, padded_width), the mask itself. The marching kernel takes its factors by value.
    [[nodiscard]] std::vector<std::byte> table(Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        const auto height = static_cast<std::size_t>(p.y.k);
        const auto width = static_cast<std::size_t>(p.x.k);
        if (marches(p, prepared.device)) {
            float factors[2 * kPassTaps] = {};
            std::copy_n(prepared.host.columns, height, factors);
            std::copy_n(prepared.host.rows, width, factors + kPassTaps);
            static_assert(sizeof factors <= kTapsByValueBytes);
            std::memcpy(prepared.by_value.data(), factors, sizeof factors);
            return {};
        }
        const Layout g = layout_of(p, prepared.device);
        std::vector<float> to;
        const auto append = [&to](const double* from, std::size_t count, int padded) {
            for (std::size_t i = 0; i < static_cast<std::size_t>(padded); ++i) {
                to.push_back(i < count ? static_cast<float>(from[i]) : 0.0F);
            }
        };
        for (std::size_t r = 0; r < static_cast<std::size_t>(g.rank); ++r) {
            append(prepared.host.columns + r * height, height, g.padded_height);
        }
        for (std::size_t r = 0; r < static_cast<std::size_t>(g.rank); ++r) {
            append(prepared.host.rows + r * width, width, g.padded_width);
        }
        const auto* mask = static_cast<const float*>(prepared.host.taps);
        to.insert(to.end(), mask, mask + height * width);
        std::vector<std::byte> bytes(to.size() * sizeof(float));
        std::memcpy(bytes.data(), to.data(), bytes.size());
        return bytes;
    }

    // A tile (a thread's outputs) that holds a NaN or an infinity is summed up in another order than one that does not.
    [[nodiscard]] std::int64_t band_rows(const Prepared& prepared) const override {
        static_assert(sep::kStepRows == sep::kSide && halves::kStepRows == sep::kSide);
        if (marches(prepared.problem, prepared.device)) { return sep::kSide; }
        return layout_of(prepared.problem, prepared.device).tile_rows;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        if (on_halves(prepared.problem, prepared.device)) {
            return "rank 1, down strips of " + std::to_string(halves::kPixels) + " pixels on tensor cores as halves, " +
                   std::to_string(halves::kStepRows) + " rows a step";
        }
        if (on_tensor_cores(prepared.problem, prepared.device)) {
            return "rank 1, down strips of " + std::to_string(sep::kTensorPixels) + " pixels on tensor cores, " +
                   std::to_string(sep::kStepRows) + " rows a step";
        }
        if (marches(prepared.problem, prepared.device)) {
            return "rank 1, down strips of " + std::to_string(sep::kColumns) + " elements, " + std::to_string(sep::kSide) +
                   " rows a step";
        }
        const Layout g = layout_of(prepared.problem, prepared.device);
        return "rank " + std::to_string(g.rank) + ", tiles of " + std::to_string(g.tile_rows) + " rows of " +
               std::to_string(g.tile_elements) + " elements";
    }

    void load(const Prepared& prepared) const override {
        if (on_halves(prepared.problem, prepared.device)) {
            return allow_most_shared(halves_kernel_of(prepared.problem).entry, prepared.device);
        }
        if (on_tensor_cores(prepared.problem, prepared.device)) {
            return allow_most_shared(tensor_kernel_of(prepared.problem), prepared.device);
        }
        if (marches(prepared.problem, prepared.device)) {
            return allow_most_shared(march_kernel_of(prepared.problem.channels.length), prepared.device);
        }
        const Layout g = layout_of(prepared.problem, prepared.device);
        allow_most_shared(kernel_of(g, prepared.problem.channels.length), prepared.device);
    }

    void launch(const Prepared& prepared, const Job& job, void*, cudaStream_t stream) const override {
        if (on_halves(prepared.problem, prepared.device)) { return launch_halves(prepared, job, stream); }
        if (on_tensor_cores(prepared.problem, prepared.device)) { return launch_tensor(prepared, job, stream); }
        if (marches(prepared.problem, prepared.device)) { return launch_march(prepared, job, stream); }
        Layout g = layout_of(prepared.problem, prepared.device);
        ImageArguments a = image_arguments_of(prepared, job);
        const dim3 grid = image_grid(a, g.tile_rows, g.tile_elements);
        a.taps = prepared.table;
        void* arguments[] = {&a, &g};
        cuda::launch(kernel_of(g, prepared.problem.channels.length), grid, threads_of(prepared.problem), arguments,
                     shared_bytes(g, prepared.problem), stream);
    }

private:
    static double march_seconds(const Problem& p, const cuda_abi::Device& device) {
        const double outputs =
            static_cast<double>(p.batch.length * p.channels.length) * static_cast<double>(p.y.outputs) * static_cast<double>(p.x.outputs);
        const double cost = on_halves(p, device) ? halves_cost(p) : on_tensor_cores(p, device) ? tensor_cost(p) : march_cost(p);
        return kLaunchSeconds +
               std::max(image_bytes(p) / (kShareOfCopy * device.copy_bytes_per_second), 2 * cost * outputs / device.peak_flops);
    }

    // The taps with the largest at 2^kTapExponent; the exponent that they are multiplied with.
    static int scale_taps(float (&taps)[kPassTaps], int count) {
        float largest = 0;
        for (int i = 0; i < count; ++i) { largest = std::max(largest, std::fabs(taps[i])); }
        const int exponent = largest == 0 ? 0 : halves::kTapExponent - std::ilogb(largest);
        for (int i = 0; i < count; ++i) { taps[i] = std::ldexp(taps[i], exponent); }
        return exponent;
    }

    static void launch_halves(const Prepared& prepared, const Job& job, cudaStream_t stream) {
        const Problem& p = prepared.problem;
        const HalvesKernel kernel = halves_kernel_of(p);
        halves::HalvesMarch g{};
        ImageArguments a = image_arguments_of(prepared, job);
        std::memcpy(g.column, prepared.by_value.data(), sizeof g.column);
        std::memcpy(g.row, prepared.by_value.data() + sizeof g.column, sizeof g.row);
        g.exponent = 127 - scale_taps(g.column, a.mask_height) - scale_taps(g.row, a.mask_width);
        double sum = 0;
        for (int i = 0; i < a.mask_width; ++i) { sum += std::fabs(g.row[i]); }
        const int middle = sum == 0 ? 0 : -std::ilogb(sum) - 1;
        g.middle = std::ldexp(1.0F, middle);
        g.exponent -= middle;
        g.in_step = halves::kStepRows * a.in_row * static_cast<std::int64_t>(sizeof(float));
        g.out_step = halves::kStepRows * a.out_row * static_cast<std::int64_t>(sizeof(float));
        const int mask_steps = halves::steps_of(a.mask_height);
        g.lead_rows = halves::kStepRows * (halves::kSteps - mask_steps);
        // Pixels by which windows begin earlier, to begin on 16 bytes in every row of every image: as many as the steps have room
        // for.
        const auto place = [](const void* at) {
            return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) / sizeof(float) % 4);
        };
        const int room = halves::kStepRows * halves::kSteps - 15 - a.mask_width;
        while (g.lead <= room && (place(a.in) - (a.origin_x + g.lead) * a.channels) % 4 != 0) { ++g.lead; }
        g.vectors = g.lead <= room && a.in_row % 4 == 0 && a.in_image % 4 == 0;
        if (g.vectors == 0) { g.lead = 0; }
        g.out_vectors = place(a.out) == 0 && a.out_row % 4 == 0 && a.out_image % 4 == 0;
        g.segment_rows = segment_rows_of(a, kernel.out_row, kernel.bytes, kernel.blocks, kTensorUnevenness, prepared.device);
        const dim3 grid = image_grid(a, g.segment_rows, kernel.out_row);
        void* arguments[] = {&a, &g};
        cuda::launch(kernel.entry, grid, kernel.threads, arguments, kernel.bytes, stream);
    }

    static void launch_tensor(const Prepared& prepared, const Job& job, cudaStream_t stream) {
        const Problem& p = prepared.problem;
        const int steps = tensor_steps_of(p);
        const auto bytes = static_cast<std::size_t>(sep::tensor_bytes(steps));
        TensorMarch g{};
        ImageArguments a = image_arguments_of(prepared, job);
        std::memcpy(g.column, prepared.by_value.data(), sizeof g.column);
        std::memcpy(g.row, prepared.by_value.data() + sizeof g.column, sizeof g.row);
        // Pixels by which windows begin earlier, to begin on 16 bytes in every row of every image: as many as the steps have room
        // for.
        const auto place = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(a.in) / sizeof(float) % 4);
        const int room = 8 * steps - 15 - static_cast<int>(p.x.k);
        while (g.lead <= room && (place - a.origin_x - g.lead) % 4 != 0) { ++g.lead; }
        g.vectors = g.lead <= room && a.in_row % 4 == 0 && a.in_image % 4 == 0;
        if (g.vectors == 0) { g.lead = 0; }
        g.segment_rows = segment_rows_of(a, sep::kTensorPixels, bytes, sep::kTensorBlocks, kTensorUnevenness, prepared.device);
        const dim3 grid = image_grid(a, g.segment_rows, sep::kTensorPixels);
        void* arguments[] = {&a, &g};
        cuda::launch(tensor_kernel_of(p), grid, 32 * sep::kTensorWarps, arguments, bytes, stream);
    }

    static void launch_march(const Prepared& prepared, const Job& job, cudaStream_t stream) {
        March g = march_of(prepared.problem);
        ImageArguments a = image_arguments_of(prepared, job);
        std::memcpy(g.column, prepared.by_value.data(), sizeof g.column);
        std::memcpy(g.row, prepared.by_value.data() + sizeof g.column, sizeof g.row);
        g.segment_rows =
            segment_rows_of(a, sep::kColumns, march_bytes(g), sep::blocks_of(a.channels), kUnevenness, prepared.device);
        const dim3 grid = image_grid(a, g.segment_rows, sep::kColumns);
        void* arguments[] = {&a, &g};
        cuda::launch(march_kernel_of(prepared.problem.channels.length), grid, sep::kColumns, arguments, march_bytes(g), stream);
    }
};

}  // namespace

const Rung& image_separable() {
    static const ImageSeparable instance;
    return instance;
}

}  // namespace tapline::cuda
