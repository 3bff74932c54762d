// The rung of segments larger than shared memory.
#include "cuda/families/overlap_save/large/overlap_save_large.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/types.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_cut.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_prepare.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_tables.hpp"
#include "cuda/families/overlap_save/overlap_save_points.hpp"
#include "cuda/families/overlap_save/overlap_save_spectrum.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

// Points in double take twice the place: the ring of three segments is a few times the L2 cache at most.
constexpr int kMostWideBits = 22;
// Fewer are done by segments in shared memory, in one pass.
constexpr std::int64_t kLeastTaps = 4097;
constexpr std::int64_t kMostLargeSegments = std::int64_t{1} << 20;  // tasks are counted in 32 bits

// Whether points are in double.
bool is_wide(const Problem& p) { return point_type_of(p).is_wide(); }

LargeKernel kernel_of(const Problem& p, int bits) {
    if (is_wide(p) && bits > kMostWideBits) { return {}; }
    return with_sample_type(p.dtype, [&]<class S>(ElementType<S>) { return large_kernel_of<S>(bits); });
}

LargeCut cut_of(const Problem& p, int bits) {
    const LargeCut cut = large_cut(bits, point_type_of(p).is_complex, p.x.k, p.x.origin);
    return p.x.boundary == kZero ? with_all_outputs(cut, p.x.n, p.x.outputs, p.x.k, p.x.origin) : cut;
}

std::int64_t tasks_of(const LargeCut& cut) { return cut.points / kTilePoints; }

/// Blocks of a multiprocessor as registers allow them, as the kernels ask for it.
std::int64_t blocks_at_once(const Problem& p, const cuda_abi::Device& device) {
    return (is_wide(p) ? 1 : 2) * static_cast<std::int64_t>(device.multiprocessors);
}

/// Segments whose points are kept, the lag of rows behind columns, how many segments' rows take turns (2^together_bits), and
/// whether these alternate with columns: so many tasks lie between one and what it waits for that the blocks of the device have
/// finished it. Rows wait for columns, which take longer than rows: 1.9 times as many tasks as there are blocks; columns wait for
/// rows: as many.
///
/// Rows of two segments take turns, so that both find the same part of the spectrum in the cache, where that costs no place there,
/// as segments are short, or where none of them finds one, as they are long. f32 on an H200, 2^28 and 2^24 samples, 65,535 taps,
/// 2^18 points, a lag of 7 and 13 segments 1,455 and 115 us; one by one with 8 and 13 1,473 and 118, 7 and 12 1,461 and 122, 6 and
/// 11 1,458 and 121; two with 8 and 14 1,478 and 118, four with 7 and 14 1,549. 524,287 taps, 2^21 points 2,101 us instead of
/// 2,185, with LargeOrder's `ahead` 2,071; 1,048,575 taps, 2^22 points 2,240 instead of 2,290, four by four 2,247. But 262,143
/// taps, 2^20 points, a lag of 1 and 3 segments 1,832 us, two by two with 4 segments 2,072.
///
/// Where not even two segments stay in the cache, columns and rows alternate, with as many segments as that needs: memory limits
/// the ones more than the others. 1,048,575 taps, 2^22 points, a lag of 1 and 4 segments 2,204 us; alternately with 3 and 6 2,168,
/// with 2 and 5 2,187, with 2 and 4 2,257. But 524,287 taps, 2^21 points 2,060 us; alternately with 3 and 6 2,091, with 2 and 5
/// 2,113.
///
/// More segments would leave the L2 cache, which costs more than to wait: 2^20 points, a lag of 2 and 4 segments 1,984 us; 131,071
/// taps, 2^19 points 1,713 us with 4 and 7, 1,763 with 3 and 6, 1,837 with 4 and 8; f64, 2^26 samples, 65,535 taps, 2^18 points
/// 1,104 us with 3 and 6, 1,142 with 4 and 7.
struct Ring {
    int lag, slots, together_bits;
    bool is_long, alternates;
};
Ring ring_of(const Problem& p, const LargeCut& cut, const cuda_abi::Device& device) {
    const bool wide = is_wide(p);
    const std::int64_t least_bytes = (wide ? 26 : 28) << 20;  // nearly half of the H200's cache
    constexpr std::int64_t kMostBytesTogether = 32 << 20;     // of a segment: a ring of six is a few times the cache still
    const std::int64_t segment_bytes = cut.points * point_type_of(p).point_bytes;
    const std::int64_t bytes = std::max(least_bytes, device.l2_bytes / 5 * 2);
    const std::int64_t most = std::clamp<std::int64_t>(bytes / segment_bytes, 3, kMostSlots);
    const std::int64_t blocks = blocks_at_once(p, device);
    const std::int64_t rows =
        std::clamp<std::int64_t>(blocks / (2 * tasks_of(cut)), 1, std::min<std::int64_t>(most - 2, kMostSlots / 2));
    const std::int64_t columns = divide_up(15 * blocks, 16 * tasks_of(cut));
    const bool is_short = most >= kMostSlots / 2;
    const bool is_long = !wide && 3 * segment_bytes > device.l2_bytes * 2 / 3 && segment_bytes <= kMostBytesTogether;
    const int more = (is_short && !wide) || is_long ? 1 : 0;
    const std::int64_t lag = std::clamp<std::int64_t>(columns - more, 1, most - 1 - rows);
    const bool alternates = is_long && 2 * segment_bytes >= device.l2_bytes;
    const std::int64_t slots = std::max<std::int64_t>(lag + 1 + rows + more, alternates ? 6 : is_long ? 5 : 0);
    return {static_cast<int>(lag), static_cast<int>(slots), more, is_long, alternates};
}

/// The order of a launch of `segments` segments. Rows of two take turns too where all segments stay in the cache: f32, 131,071
/// taps, 2^19 points, 2^20 and 2^22 samples 33 and 48 us instead of 39 and 53; 262,143 taps, 2^20 points 37 and 66 us instead of 49
/// and 74. Not in double: 2,347,819 samples, 9,413 taps 71 us instead of 53.
///
/// Of long segments a few alternate anyway: 524,287 taps, 2^21 points, 2^24 samples 168 us instead of 180, 2^25 306 instead of 314,
/// 2^26 561 either way.
LargeOrder order_of(const Problem& p, const LargeCut& cut, const Ring& ring, int segments, const cuda_abi::Device& device) {
    constexpr int kFew = 16;
    const bool all_stay = !is_wide(p) && segments * cut.points * point_type_of(p).point_bytes <= device.l2_bytes;
    if (all_stay) { return LargeOrder::of(ring.lag, 1, ring.slots, false, segments); }
    const bool alternates = ring.alternates || (ring.is_long && segments <= kFew);
    return LargeOrder::of(alternates ? ring.slots / 2 : ring.lag, ring.together_bits, ring.slots, alternates, segments);
}

bool has_size(const Problem& p, int bits, const cuda_abi::Device& device) {
    const LargeKernel kernel = kernel_of(p, bits);
    return kernel.function != nullptr && kernel.shared_bytes <= device.shared_bytes_per_block && cut_of(p, bits).outputs != 0;
}

double estimate(const Problem& p, const LargeCut& cut, const cuda_abi::Device& device) {
    // Of a multiprocessor, for 8,192 points there and back, by bits of a segment: 2^28 samples of f32 on an H200. Few long segments
    // leave the L2 cache: 65,535 taps with 2^18 points take 1,455 us, 262,143 with 2^20 1,832, 524,287 with 2^21 2,060 and
    // 1,048,575 with 2^22 2,168.
    constexpr std::array<double, kMostLargeBits - kLeastLargeBits + 1> kTaskSeconds{10.05e-6, 11.6e-6, 12.75e-6,
                                                                                    14.1e-6,  15.1e-6, 22.3e-6};
    constexpr double kMeasuredFlops = 6.69e13 / 132;
    constexpr double kHalfFactor = 0.95;   // of samples of 16 bits
    constexpr double kWideFactor = 2.8;    // 2^17 samples a segment and less, 5,600 to 15,000 taps
    constexpr double kLongWide = 15.7e-6;  // before that factor: 2^22 points in double, whose columns and rows do not alternate
    const bool wide = is_wide(p);
    const bool half = p.dtype == kF16 || p.dtype == kBf16;
    const double factor = (wide   ? kWideFactor * (has_fast_double(device) ? 1 : 8)
                           : half ? kHalfFactor
                                  : 1) *
                          kMeasuredFlops / (device.peak_flops / device.multiprocessors);
    const auto segments = static_cast<double>(divide_up(p.x.outputs, cut.outputs) * p.batch.length);
    const double tasks = segments * static_cast<double>(tasks_of(cut)) / device.multiprocessors;
    // Columns, rows, columns: the first and the last ones of all find few others at work, the more segments are between them. f32,
    // 65,535 taps, 2^20 samples take 33 us, 2^21 34, 2^22 46, 2^23 70 and 2^24 116. In double a task is long enough to hide most
    // of it.
    const double in_a_row = wide ? 0.55 : (half ? 1.8 : 1.5) + 0.9 * std::min(1.0, segments / 14);
    const double task =
        wide && cut.bits == kMostWideBits ? kLongWide : kTaskSeconds.at(static_cast<std::size_t>(cut.bits - kLeastLargeBits));
    return 2 * kLaunchSeconds + factor * task * (std::max(tasks, wide ? 0.8 : 1.0) + in_a_row);
}

// Of segments in an endless signal, whatever this one's length, so that a stream, which does not know it, gives the same bits. But
// where a shorter segment holds the whole of a row, that.
int best_bits(const Problem& p, const cuda_abi::Device& device) {
    Problem endless = p;
    endless.x.n = endless.x.outputs = std::int64_t{1} << 28;
    endless.batch.length = 1;
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int bits = kLeastLargeBits; bits <= kMostLargeBits; ++bits) {
        if (!has_size(p, bits, device)) { continue; }
        const LargeCut whole = cut_of(p, bits);
        if (whole.outputs >= p.x.outputs) {
            return best != 0 && estimate(p, cut_of(p, best), device) < estimate(p, whole, device) ? best : bits;
        }
        const double seconds = estimate(endless, cut_of(endless, bits), device);
        if (seconds < least) {
            least = seconds;
            best = bits;
        }
    }
    return best;
}

// Of the shortest segments and taps that come later load_spectrum() has a kernel that is sooner done where taps are few: f32, 2^24
// samples, 65,535 taps on an H200 149 us with it and 155 by columns and rows. But every part of a row reads all taps there: 262,144
// samples with as many taps 89 us, of which 30 are the convolution's own; with 2^19 points and 400,001 taps 799 instead of 324.
bool makes_short_spectrum(const Problem& p, const LargeCut& cut) {
    constexpr std::int64_t kMostTaps = 100000;
    return cut.bits == kLeastLargeBits && !is_wide(p) && p.x.k < kMostTaps;
}

LargeCut choose_cut(const Prepared& prepared) {
    const Problem& p = prepared.problem;
    int bits = 0;
    while (prepared.policy.threads_per_block != 0 && 32 * prepared.policy.threads_per_block != 1 << bits && bits < 30) { ++bits; }
    if (bits != 0 && !has_size(p, bits, prepared.device)) {
        throw CudaError(cuda_abi::Code::argument, "policy: no segments of this size");
    }
    return cut_of(p, bits != 0 ? bits : best_bits(p, prepared.device));
}

class OverlapSaveLarge final : public Rung, public TakesTapsOnDevice {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "29";
        info.name = "overlap_save_large";
        info.idea =
            "a segment of up to 16 million samples is a matrix: its columns are transformed as they are read, its rows where they "
            "lie, and its columns again as they are written. The matrix stays in the L2 cache";
        info.changed =
            "one large transform instead of many small ones for each part of the filter; blocks take tasks from a queue, so that "
            "reading, working in the cache and writing go on at once in one launch";
        info.requirements =
            "one filter for all rows, more than 4,096 taps and fewer than a segment has samples; not for strict accuracy";
        info.limited_by =
            "the L2 cache, through which every point passes four times, and how well computing hides it; where segments are "
            "longer than the cache, memory";
        info.source = "src/cuda/families/overlap_save/large/overlap_save_large.cuh";
        info.takes_pieces = 1;
        info.is_local = 0;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (kernel_of(p, kLeastLargeBits).function == nullptr) { return "integers are exact on the CPU only"; }
        if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
        if (p.x.k < kLeastTaps) { return "fewer than " + std::to_string(kLeastTaps) + " taps: short segments need one pass only"; }
        if (p.filters > 1 && !p.taps_come_later) {
            return "a filter for each row: a large segment's spectrum would be read for one row only";
        }
        if (best_bits(p, device) == 0) {
            return std::to_string(p.x.k) +
                   " taps: more than a segment of the largest size has room for, or too little shared memory";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        Problem of_launch = p;
        double launches = 1;
        if (p.filters > 1) {  // a row each
            launches = static_cast<double>(p.batch.length);
            of_launch.filters = of_launch.batch.length = 1;
        }
        return launches * estimate(of_launch, cut_of(p, best_bits(of_launch, device)), device) * slowdown_of_layout(p);
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all;
        const int best = best_bits(p, device);
        if (best != 0) { all.push_back({0, 1 << (best - 5), 0, 0}); }
        for (int bits = kLeastLargeBits; bits <= kMostLargeBits; ++bits) {
            if (has_size(p, bits, device)) { all.push_back({0, 1 << (bits - 5), 0, 0}); }
        }
        return all;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLarge>();
        return kStateBytes + chosen.ring.slots * chosen.cut.points * chosen.type.point_bytes;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLarge>();
        return "segments of " + std::to_string(chosen.cut.samples) + " samples, " + std::to_string(chosen.cut.outputs) +
               " outputs each, " + std::to_string(chosen.ring.slots) + " on their way";
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        return prepared.chosen_as<ChosenLarge>().cut.outputs;
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenLarge>();
        chosen->cut = choose_cut(prepared);
        chosen->type = point_type_of(p);
        chosen->kernel = kernel_of(p, chosen->cut.bits);
        chosen->ring = ring_of(p, chosen->cut, prepared.device);
        const LargeKernel& kernel = chosen->kernel;
        const auto shared_bytes = static_cast<std::size_t>(kernel.shared_bytes);
        chosen->ready_bytes =
            std::int64_t{LargeTables(kernel.radix, kernel.warps, chosen->type.is_wide()).end} * chosen->type.point_bytes;
        load_kernel(kernel.function, shared_bytes, prepared.device);
        chosen->order = load_order(prepared);
        if (!p.taps_come_later) {
            load_plan_spectrum(prepared, chosen->cut.bits);
        } else if (!makes_short_spectrum(p, chosen->cut)) {
            load_kernel(kernel.spectrum, shared_bytes, prepared.device);
        } else {
            chosen->spectrum = load_spectrum(p, {.ready_bytes = chosen->ready_bytes,
                                                 .skip = chosen->cut.skip,
                                                 .rows = 32 * kernel.radix,
                                                 .warps = kernel.warps,
                                                 .for_block = 0,
                                                 .order = chosen->type.is_wide() ? SpectrumOrder::plain : SpectrumOrder::halves});
        }
        return chosen;
    }
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLarge>();
        std::vector<std::byte> bytes;
        append(bytes, large_tables(chosen.kernel.radix, chosen.kernel.warps, chosen.type.is_complex, chosen.type.is_wide()),
               chosen.type.is_wide());
        return bytes;
    }
    [[nodiscard]] std::int64_t filled_table_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLarge>();
        return chosen.cut.points * chosen.type.point_bytes;
    }
    void fill_tables(const Prepared& prepared, void* to, cudaStream_t stream) const override {
        make_plan_spectrum(prepared, prepared.chosen_as<ChosenLarge>().cut, to, stream);
    }
    [[nodiscard]] std::int64_t made_table_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLarge>();
        return chosen.ready_bytes + chosen.cut.points * chosen.type.point_bytes;
    }
    [[nodiscard]] std::int64_t most_filters() const override { return 1; }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] double making_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.filters == 1) { return 0; }
        return static_cast<double>(p.filters) *
               (kLaunchSeconds + spectra_seconds(p, cut_of(p, best_bits(p, device)).points, 1, device));
    }
    void load_tables(const Prepared&) const override {}  // load() does
    void launch_with_taps(const Prepared& prepared, const Job& job, void* workspace, const MadeTables& made,
                          cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenLarge>();
        cuda_abi::DeviceTaps given = made.given;
        if (given.dtype != prepared.problem.taps_dtype) {
            launch_order(chosen.order, prepared, made.taps, made.given, {}, stream);
            given = {.data = made.taps};
        }
        if (chosen.spectrum.kernel != nullptr) {
            launch_spectrum(chosen.spectrum, prepared.on_device.tables, made.tables, made.taps, given, stream);
            return launch(prepared, job, {made.taps, made.tables}, workspace, stream);
        }
        LargeSegments g{};
        g.made_spectrum = made.tables;
        g.made_taps = made.taps;
        g.given = given.data;
        g.reversed = given.reversed;
        g.conjugated = given.conjugated;
        launch_segments(prepared, job, g, {made.taps, prepared.on_device.tables}, workspace, stream);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        launch_segments(prepared, job, {}, on_device, workspace, stream);
    }

private:
    static constexpr std::int64_t kStateBytes = (sizeof(LargeState) + 255) / 256 * 256;

    struct ChosenLarge : Chosen {
        LargeCut cut;
        PointType type{};
        LargeKernel kernel;
        Ring ring{};
        std::int64_t ready_bytes = 0;  // of the tables, before the spectrum
        SpectrumPlan spectrum;         // where taps come later and the kernel does not make it
        OrderPlan order;               // where they come in another type
    };

    /// `g` says of what the spectrum is made unless the plan has it.
    static void launch_segments(const Prepared& prepared, const Job& job, LargeSegments g, const OnDevice& on_device,
                                void* workspace, cudaStream_t stream) {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenLarge>();
        const LargeCut& cut = chosen.cut;
        const Arguments a = arguments_of(prepared, job, on_device);
        g.tables = on_device.tables;
        g.spectrum = g.made_spectrum != nullptr ? g.made_spectrum : static_cast<const char*>(on_device.tables) + chosen.ready_bytes;
        g.state = static_cast<LargeState*>(workspace);
        g.points = static_cast<char*>(workspace) + kStateBytes;
        const std::int64_t of_row = segments_of_row(cut, job.count);
        if (of_row > kMostLargeSegments || job.batch > kMostLargeSegments / of_row) {
            throw CudaError(cuda_abi::Code::unsupported, "problem: more segments than one launch counts; divide the batch");
        }
        place_segments(g, cut, a, chosen.type.bytes);
        g.order = order_of(p, cut, chosen.ring, g.segments, prepared.device);
        g.real_taps = has_real_taps(p);
        check(cudaMemsetAsync(g.state, 0, sizeof(LargeState), stream), "cudaMemsetAsync");
        const auto launch_tasks = [&](LargeSegmentKernel kernel, std::int64_t tasks) {
            launch_kernel(kernel, static_cast<unsigned>(std::min(blocks_at_once(p, prepared.device), tasks)), kTileThreads,
                          static_cast<std::size_t>(chosen.kernel.shared_bytes), stream, a, g);
        };
        if (g.made_spectrum != nullptr) { launch_tasks(chosen.kernel.spectrum, tasks_of(cut)); }
        launch_tasks(chosen.kernel.function, 2 * (g.segments + g.order.slots) * tasks_of(cut));
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_large() {
    static const overlap_save::OverlapSaveLarge rung;
    return rung;
}

}  // namespace tapline::cuda
