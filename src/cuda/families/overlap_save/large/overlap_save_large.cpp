// The rung of segments larger than shared memory.
#include "cuda/families/overlap_save/large/overlap_save_large.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/types.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_plan.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_prepare.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_tables.hpp"
#include "cuda/families/overlap_save/overlap_save_points.hpp"
#include "cuda/families/overlap_save/overlap_save_spectrum.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

constexpr std::int64_t kMostLargeSegments = std::int64_t{1} << 20;  // tasks are counted in 32 bits

LargeCut cut_of(const Problem& p, int bits) {
    const LargeCut cut = large_cut(bits, point_type_of(p).is_complex, p.x.k, p.x.origin);
    return p.x.boundary == kZero ? with_all_outputs(cut, p.x.n, p.x.outputs, p.x.k, p.x.origin) : cut;
}

bool has_size(const Problem& p, int bits, const cuda_abi::Device& device) {
    const LargeKernel kernel = kernel_of(p, bits);
    return kernel.function != nullptr && kernel.shared_bytes <= device.shared_bytes_per_block && cut_of(p, bits).outputs != 0;
}

// Whether rows lie side by side, for the kernel that takes several together.
bool lies_together(const Problem& p) {
    constexpr std::int64_t kMostTaps = std::int64_t{1} << 17;  // half a segment
    return p.dtype == kComplex64 && p.output_dtype == kComplex64 && p.filters == 1 && p.x.k <= kMostTaps &&
           p.batch.length % kRowsTogether == 0 && p.batch.in_stride == 1 && p.batch.out_stride == 1;
}

// How much longer segments of rows together take than those of rows alone: they are four times as large in the ring, and memory is
// read and written by sectors, of which the next ones of a line are wanted by other groups of rows, later. complex64 on an H100, by
// 2^18 points, 2^25 samples in all, 8,193 and 16,385 taps: 4 rows 543 us, 8 rows 690, 32 rows 1,017.
double together_factor(const Problem& p) {
    const double groups = static_cast<double>(std::abs(p.x.in_stride)) / kRowsTogether;  // of a line of memory
    return 1.5 + 0.31 * std::log2(std::max(groups, 1.0));
}

// Two segments of rows together, taking turns, leave more of the L2 cache to samples and outputs than three: 4 rows 543 us instead
// of 585, 8 rows 690 instead of 755, 32 rows 1,017 instead of 1,098; by four and more of them it takes longer than by three.
LargeOrder order_together(const Problem& p, const LargeCut& cut, const Ring& ring, int segments, const cuda_abi::Device& device) {
    if (segments * cut.points * point_type_of(p).point_bytes <= device.l2_bytes) {
        return order_of(p, cut, ring, segments, device);
    }
    return LargeOrder::of(1, 0, 2, false, segments);
}

// Of so many rows as the segments of the ring.
LargeCut in_ring(LargeCut cut, bool together) {
    cut.points *= together ? kRowsTogether : 1;
    return cut;
}

int best_bits(const Problem& p, const cuda_abi::Device& device) {
    if (lies_together(p) && has_size(p, kLeastLargeBits, device)) { return kLeastLargeBits; }
    return best_bits(
        p, {.least = kLeastLargeBits, .most = kMostLargeBits, .endless = std::int64_t{1} << 28},
        [&](int bits) { return has_size(p, bits, device); }, cut_of,
        [&](const Problem& some, const LargeCut& cut) { return estimate(some, cut, device); });
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

// What lies apart goes one by one: `seconds` become so many. Rows that lie closer than samples take turns and share what comes from
// memory; what they take more is the same for each element, whatever its type. H100: 68 rows of 1,855,594 complex128, 19,133 taps,
// 8.8 ms instead of 4.3 with samples apart, 19.2 with outputs, too; 64 rows of 2^20 f32, 16,385 taps, 2.7 and 6.9 ms instead of
// 0.7. With so few parts of the filter overlap_save_parts takes 2.9 and 4.5 ms of the latter, of the former 55 and 67.
double seconds_apart(const Problem& p, double seconds, const cuda_abi::Device& device) {
    constexpr double kReadBytes = 96;  // of each sample, as if they were copied
    constexpr double kWrittenBytes = 216;
    constexpr std::int64_t kTapsOfThreeParts = std::int64_t{3} << 14;
    const bool in_turn = p.batch.length > 1 && std::abs(p.batch.in_stride) < std::abs(p.x.in_stride) && p.output_dtype == p.dtype;
    if (!in_turn || !(is_wide(p) || p.x.out_stride == 1 || p.x.k > kTapsOfThreeParts)) { return seconds * slowdown_of_layout(p); }
    const double bytes =
        kReadBytes * static_cast<double>(p.x.n) + (p.x.out_stride == 1 ? 0 : kWrittenBytes * static_cast<double>(p.x.outputs));
    return seconds + bytes * static_cast<double>(p.batch.length) / device.copy_bytes_per_second;
}

class OverlapSaveLarge final : public Rung, public TakesTapsOnDevice {
public:
    static constexpr Head kHead{"29", "overlap_save_large", "", R"(
Idea: a segment of up to 16 million samples is a matrix: its columns are transformed as they are read, its rows where they lie,
and its columns again as they are written. The matrix stays in the L2 cache
Changed: one large transform instead of many small ones for each part of the filter; blocks take tasks from a queue, so that
reading, working in the cache and writing go on at once in one launch
Requires: one filter for all rows, more than 4,096 taps and fewer than a segment has samples; not for strict accuracy
Limited by: the L2 cache, through which every point passes four times, and how well computing hides it; where segments are longer
than the cache, memory
)"};

    OverlapSaveLarge()
        : Rung(kHead, {.source = "src/cuda/families/overlap_save/large/overlap_save_large.cuh", .takes_pieces = 1, .is_local = 0}) {
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (kernel_of(p, kLeastLargeBits).function == nullptr) { return "integers are exact on the CPU only"; }
        if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
        if (Refusal few = too_few_taps(p.x.k); !few.empty()) { return few; }
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
        if (lies_together(p)) { return together_factor(p) * estimate(p, cut_of(p, best_bits(p, device)), device); }
        return seconds_apart(p, launches * estimate(of_launch, cut_of(p, best_bits(of_launch, device)), device), device);
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
        const std::int64_t points =
            std::max(chosen.ring.slots * chosen.cut.points, chosen.ring_together.slots * in_ring(chosen.cut, true).points);
        return kStateBytes + points * chosen.type.point_bytes;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLarge>();
        const bool together = chosen.ring_together.slots > 0;
        const int on_their_way = together ? kRowsTogether * chosen.ring_together.slots : chosen.ring.slots;
        return "segments of " + std::to_string(chosen.cut.samples) + " samples, " + std::to_string(chosen.cut.outputs) +
               " outputs each, " + std::to_string(on_their_way) + " on their way" +
               (together ? ", " + std::to_string(kRowsTogether) + " rows together" : "");
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
        if (lies_together(p) && kernel.together != nullptr) {
            chosen->ring_together = ring_of(p, in_ring(chosen->cut, true), prepared.device);
            load_kernel(kernel.together, shared_bytes, prepared.device);
        }
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
               (kLaunchSeconds + spectra_seconds(p, cut_of(p, best_bits(p, device)).points, 1, false, device));
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
        Ring ring_together{};          // of rows together, or nothing
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
        const bool together = chosen.ring_together.slots > 0 && lie_together(a);
        place_segments(g, cut, a, chosen.type.bytes, together ? kRowsTogether : 1);
        const LargeCut of_ring = in_ring(cut, together);
        g.order = together ? order_together(p, of_ring, chosen.ring_together, g.segments, prepared.device)
                           : order_of(p, cut, chosen.ring, g.segments, prepared.device);
        g.real_taps = has_real_taps(p);
        check(cudaMemsetAsync(g.state, 0, sizeof(LargeState), stream), "cudaMemsetAsync");
        const auto launch_tasks = [&](LargeSegmentKernel kernel, std::int64_t tasks) {
            launch_kernel(kernel, static_cast<unsigned>(std::min(blocks_at_once(p, prepared.device), tasks)), kTileThreads,
                          static_cast<std::size_t>(chosen.kernel.shared_bytes), stream, a, g);
        };
        if (g.made_spectrum != nullptr) { launch_tasks(chosen.kernel.spectrum, tasks_of(cut)); }
        launch_tasks(together ? chosen.kernel.together : chosen.kernel.function,
                     2 * (g.segments + g.order.slots) * tasks_of(of_ring));
    }
};

}  // namespace

std::string too_few_taps(std::int64_t taps) {
    constexpr std::int64_t kLeastTaps = 4097;
    return taps >= kLeastTaps ? "" : "fewer than " + std::to_string(kLeastTaps) + " taps: short segments need one pass only";
}

}  // namespace overlap_save

const Rung& overlap_save_large() { return core::only<overlap_save::OverlapSaveLarge>(); }

}  // namespace tapline::cuda
