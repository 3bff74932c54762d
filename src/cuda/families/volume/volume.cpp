// Rung 11: what it supports, how a volume is cut, how it is launched.
#include "cuda/families/volume/volume.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/launch.hpp"
#include "cuda/prepared.hpp"

namespace tapline::cuda {
namespace {

using namespace volume_rung;

constexpr double kMostElements = 1 << 30;  // that a plane's samples lie apart
constexpr std::int64_t kMostRounds = 4;    // of blocks that do not all run at once
constexpr double kStartPlanes = 4;         // a block's start, in planes
// In multiply-adds of a thread: a product, an output besides. Fitted on an H100, 384 x 384 x 384: f32 with 3, 5 and 7 taps a side
// 200, 420 and 1,250 us.
constexpr double kProductCost = 1.65;
constexpr double kOutputCost = 20;
constexpr double kWidenedCost = 30;  // and one whose samples are widened, of a plane's outputs
constexpr double kOfInteger = 2;     // a product of integers
constexpr double kAlone = 0.45;      // a block that has a multiprocessor to itself, of the time of as many as it holds
constexpr double kShareMoved = 0.8;
constexpr double kNorm = 3;

int side_of(const Problem& p) { return volume_rung::side_of(std::max({p.z.k, p.y.k, p.x.k})); }
int bytes_of(const Problem& p) { return stored_bytes(p.taps_dtype); }  // of a sum

// Sums of 32 bits that wrap.
bool sums_integers(const Problem& p) { return p.whole_sums && p.taps_dtype == kI32; }

// Whether samples have another type than sums.
bool widens(const Problem& p) { return p.dtype != p.taps_dtype || sums_integers(p); }

// The constant as the type of samples has it.
double absent_of(const Problem& p) {
    const double c = p.constant.real();
    return p.dtype == kF16 ? __half2float(__half(c)) : p.dtype == kBf16 ? __bfloat162float(__nv_bfloat16(c)) : c;
}

// Integers have sums of any of the types, samples of 16 bits of f32.
bool has_types(const Problem& p) {
    if (p.taps_dtype == p.dtype) { return p.dtype == kF32 || p.dtype == kF64 || sums_integers(p); }
    if (is_complex(p.dtype) || p.dtype == kBoolean || is_complex(p.output_dtype) || stored_bytes(p.dtype) > 4) { return false; }
    if (!is_integer(p.dtype)) { return stored_bytes(p.dtype) == 2 && p.taps_dtype == kF32; }
    return p.taps_dtype == kF32 || p.taps_dtype == kF64 || sums_integers(p);
}

// Elements from a plane's first to its last, wherever those of a job lie: packed too.
double span_of(const Problem& p) {
    const auto reach = [](std::int64_t length, std::int64_t step, std::int64_t packed) {
        return static_cast<double>(length) * static_cast<double>(std::max(std::abs(step), packed));
    };
    return reach(p.x.n, p.x.in_stride, p.channels.length) + reach(p.y.n, p.y.in_stride, p.channels.length * p.x.n);
}

bool has(const Problem& p, Boundary boundary) {
    return p.x.boundary == boundary || p.y.boundary == boundary || p.z.boundary == boundary;
}

struct Tiles {
    std::int64_t x, y, volumes;
    [[nodiscard]] std::int64_t all() const { return x * y * volumes; }
};
Tiles tiles_of(const Problem& p, const Cut& c, std::int64_t volumes) {
    return {divide_up(p.x.outputs, c.tile_x), divide_up(p.y.outputs, c.tile_y), volumes};
}

// Planes of outputs that a block makes, so that all blocks run at once or in few rounds, and the rounds' planes.
struct Segments {
    std::int64_t planes = 1;
    std::int64_t blocks = 1;
    double cost = std::numeric_limits<double>::infinity();
};
Segments segments_of(std::int64_t outputs, std::int64_t tiles, int side, std::int64_t at_once) {
    Segments best;
    for (std::int64_t rounds = 1; rounds <= kMostRounds; ++rounds) {
        const std::int64_t segments = std::clamp<std::int64_t>(rounds * at_once / tiles, 1, outputs);
        const std::int64_t planes = divide_up(outputs, segments);
        const std::int64_t blocks = tiles * divide_up(outputs, planes);
        const auto needed = static_cast<double>(divide_up(blocks, at_once));
        const double cost = needed * (static_cast<double>(planes + side - 1) + kStartPlanes);
        if (cost < best.cost) { best = {planes, blocks, cost}; }
    }
    return best;
}
std::int64_t at_once_of(const Problem& p, const cuda_abi::Device& device) {
    const std::size_t bytes = volume_rung::bytes_of(side_of(p), bytes_of(p));
    const auto held = static_cast<std::int64_t>(shared_limit(device) / bytes);
    return std::max(device.multiprocessors, 1) * std::clamp<std::int64_t>(held, 1, kBlocksHeld);
}

template <class X>
struct ChosenVolume final : Chosen {
    Kernel<X> kernel = nullptr;
    VolumeArguments<X> arguments{};
};

class VolumeDirect final : public Rung {
public:
    static constexpr Head kHead{"13", "volume_direct", "", R"(
Idea: a block goes through a column of planes: each comes to shared memory once, and while it is there it is added to the sums in
registers of all the planes of outputs that it belongs to
Changed: a volume is read and written once, with no more work than its mask has taps
Requires: real samples of at most 4 bytes or f64, one mask of at most 7 taps along each axis
Limited by: memory up to 3 x 3 x 3 taps, multiply-adds above
)"};

    VolumeDirect() : Rung(kHead, {.source = "src/cuda/families/volume/volume.cuh", .rank = 3, .takes_pieces = 1, .truncates = 1}) {}

    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (!has_types(p)) { return "takes f32 and f64 with taps like it, integers of at most 4 bytes and 16-bit samples"; }
        if (p.filters != 1) { return "takes one mask for all channels"; }
        if (std::max({p.z.k, p.y.k, p.x.k}) > kMostSide) { return "takes at most 7 taps along each axis"; }
        if (has(p, kZero) && has(p, kConstant)) { return "takes zeros or a constant outside the volume, not one for each axis"; }
        if (span_of(p) > kMostElements) { return "counts a plane's elements in 30 bits"; }
        if (!p.taps_finite) { return "fills masks up with zeros, beside which taps must be finite"; }
        if (volume_rung::bytes_of(side_of(p), bytes_of(p)) > shared_limit(device)) {
            return "its planes do not fit in shared memory";
        }
        return {};
    }

    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const int side = side_of(p);
        const Cut c = cut_of(side, bytes_of(p));
        const Tiles tiles = tiles_of(p, c, p.batch.length * p.channels.length);
        const std::int64_t at_once = at_once_of(p, device);
        const Segments segments = segments_of(p.z.outputs, tiles.all(), side, at_once);
        const double held = static_cast<double>(divide_up(segments.blocks, std::max(device.multiprocessors, 1))) *
                            std::max(device.multiprocessors, 1);
        const double full = std::clamp(held / static_cast<double>(at_once), kAlone, 1.0);
        const double outputs = segments.cost * full * static_cast<double>(at_once) * c.tile_x * c.tile_y;
        const double rate = p.taps_dtype == kF64 ? device.single_to_double : sums_integers(p) ? kOfInteger : 1;
        const double of_output = rate * (kProductCost * side * side * side + kOutputCost) + (widens(p) ? kWidenedCost : 0);
        const double computing = 2 * outputs * of_output / device.peak_flops;
        const double moved = static_cast<double>(p.samples()) * bytes_touched(p.x.in_stride, stored_bytes(p.dtype)) +
                             static_cast<double>(p.outputs()) * bytes_touched(p.x.out_stride, stored_bytes(p.output_dtype));
        return kLaunchSeconds + kColdSeconds + overlapped(moved / (kShareMoved * device.copy_bytes_per_second), computing, kNorm);
    }

    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const int side = side_of(prepared.problem);
        const Cut c = cut_of(side, bytes_of(prepared.problem));
        return "as " + std::to_string(side) + " x " + std::to_string(side) + " x " + std::to_string(side) + " taps, planes of " +
               std::to_string(c.tile_y) + " x " + std::to_string(c.tile_x) + " outputs";
    }

    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        if (prepared.problem.taps_dtype == kF64) { return load_of<double>(prepared); }
        if (prepared.problem.taps_dtype == kI32) { return load_of<std::int32_t>(prepared); }
        return load_of<float>(prepared);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice&, void*, cudaStream_t stream) const override {
        if (prepared.problem.taps_dtype == kF64) {
            launch_of<double>(prepared, job, stream);
        } else if (prepared.problem.taps_dtype == kI32) {
            launch_of<std::int32_t>(prepared, job, stream);
        } else {
            launch_of<float>(prepared, job, stream);
        }
    }

private:
    static Side side_of_axis(const core::Axis& a) {
        return {a.n, a.origin, a.in_stride, a.out_stride, 0, a.n, 0, a.outputs, a.boundary, static_cast<int>(a.k)};
    }

    template <class X>
    static std::unique_ptr<const Chosen> load_of(const Prepared& prepared) {
        const Problem& p = prepared.problem;
        const int side = side_of(p);
        auto chosen = std::make_unique<ChosenVolume<X>>();
        chosen->kernel = kernel_of<X>(side, widens(p));
        load_kernel(chosen->kernel, volume_rung::bytes_of(side, sizeof(X)), prepared.device);
        VolumeArguments<X>& a = chosen->arguments;
        a.z = side_of_axis(p.z);
        a.y = side_of_axis(p.y);
        a.x = side_of_axis(p.x);
        a.is_filled_up = p.z.k != side || p.y.k != side || p.x.k != side;
        if (has(p, kConstant)) {
            a.absent =
                std::is_integral_v<X> ? static_cast<X>(static_cast<std::int64_t>(p.constant.real())) : static_cast<X>(absent_of(p));
        }
        a.input_type = p.dtype;
        a.input_bytes = stored_bytes(p.dtype);
        a.output_bytes = stored_bytes(p.output_dtype);
        set_epilogue(a.common, p);
        const auto* from = static_cast<const X*>(prepared.given.taps);
        for (std::int64_t z = 0; z < p.z.k; ++z) {
            for (std::int64_t y = 0; y < p.y.k; ++y, from += p.x.k) { std::copy_n(from, p.x.k, a.taps + (z * side + y) * side); }
        }
        return chosen;
    }

    template <class X>
    static void launch_of(const Prepared& prepared, const Job& job, cudaStream_t stream) {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenVolume<X>>();
        const int side = side_of(p);
        const Cut c = cut_of(side, sizeof(X));
        VolumeArguments<X> a = chosen.arguments;
        a.out = job.out;
        a.in = job.in;
        a.z.in_stride = job.in_stride;
        a.z.out_stride = job.out_stride;
        a.z.in_first = job.in_first;
        a.z.in_last = job.in_last;
        a.z.first = job.first;
        a.z.outputs = job.count;
        a.channels = p.channels.length;
        a.in_channel = p.channels.in_stride;
        a.out_channel = p.channels.out_stride;
        if (job.packed != 0) {
            a.x.in_stride = a.x.out_stride = a.channels;
            a.y.in_stride = a.channels * p.x.n;
            a.y.out_stride = a.channels * p.x.outputs;
            a.in_channel = a.out_channel = 1;
        }
        a.volumes = job.batch * a.channels;
        a.in_item = job.in_batch;
        a.out_item = job.out_batch;
        const Tiles tiles = tiles_of(p, c, a.volumes);
        a.tiles_x = tiles.x;
        a.tiles_y = tiles.y;
        a.segment_planes = segments_of(job.count, tiles.all(), side, at_once_of(p, prepared.device)).planes;
        a.segments = divide_up(job.count, a.segment_planes);
        a.store_vectors = (widens(p) || a.common.converts == 0) && stores_vectors(a);
        const double blocks = static_cast<double>(tiles.x) * static_cast<double>(tiles.y) * static_cast<double>(a.volumes) *
                              static_cast<double>(a.segments);
        if (blocks > static_cast<double>(kMostBlocks)) { refuse_launch(); }
        launch_kernel(chosen.kernel, static_cast<unsigned>(tiles.all() * a.segments), kThreads,
                      volume_rung::bytes_of(side, sizeof(X)), stream, a);
    }

    template <class X>
    static bool stores_vectors(const VolumeArguments<X>& a) {
        constexpr std::int64_t kVector = 16 / sizeof(X);  // outputs
        const auto bytes = static_cast<std::uintptr_t>(std::min<std::int64_t>(kVector * a.output_bytes, 16));
        const std::int64_t steps[] = {a.z.out_stride, a.y.out_stride, a.out_item, a.out_channel};
        return a.x.out_stride == 1 && reinterpret_cast<std::uintptr_t>(a.out) % bytes == 0 &&
               std::all_of(std::begin(steps), std::end(steps), [](std::int64_t step) { return step % kVector == 0; });
    }
};

}  // namespace

const Rung& volume_direct() { return core::only<VolumeDirect>(); }

}  // namespace tapline::cuda
