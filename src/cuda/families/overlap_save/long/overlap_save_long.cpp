// The rung of segments of many large ones.
#include "cuda/families/overlap_save/long/overlap_save_long.hpp"

#include <algorithm>
#include <limits>

#include "cuda/engine_state.hpp"
#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/common/types.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_plan.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_prepare.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large_tables.hpp"
#include "cuda/families/overlap_save/overlap_save_points.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

// Large segments are sooner done with fewer; and tests need not go further.
constexpr std::int64_t kLeastTaps = (std::int64_t{1} << 18) + 1;

LargeCut cut_of(const Problem& p, int bits) {
    const LargeCut cut = large_cut(bits, point_type_of(p).is_complex, p.x.k, p.x.origin);
    return p.x.boundary == kZero ? with_all_outputs(cut, p.x.n, p.x.outputs, p.x.k, p.x.origin) : cut;
}

/// The parts of a segment as a problem of large segments: each a row of complex samples, a filter of its own and outputs that wrap
/// around.
Problem problem_of_parts(const Problem& p, const LargeCut& cut) {
    Problem parts = p;
    parts.dtype = parts.taps_dtype = point_type_of(p).is_wide() ? kComplex128 : kComplex64;
    parts.x.k = parts.x.n = parts.x.outputs = cut.points / kParts;
    parts.x.origin = 0;
    parts.batch.length = kParts;
    return parts;
}
LargeCut cut_of_parts(const LargeCut& cut) {
    LargeCut part;
    part.bits = cut.bits - kPartsBits;
    part.points = part.samples = cut.points / kParts;
    part.outputs = part.used = static_cast<int>(part.points);
    return part;
}

bool has_size(const Problem& p, int bits, const cuda_abi::Device& device) {
    const LargeCut cut = cut_of(p, bits);
    const LargeKernel kernel = kernel_of(problem_of_parts(p, cut), bits - kPartsBits);
    // Points, spectrum and what an execution's spectrum is made of leave room for arrays.
    return cut.outputs != 0 && kernel.function != nullptr && kernel.shared_bytes <= device.shared_bytes_per_block &&
           2 * cut.points * point_type_of(p).point_bytes <= device.memory_bytes / 8;
}

/// Seconds of one segment. Splitting and joining move samples, points and outputs at the speed of a copy.
double seconds_of_segment(const Problem& p, const LargeCut& cut, const cuda_abi::Device& device) {
    constexpr double kShareOfCopyHere = 0.85;  // 2^24 points of f32, H100: 73 us to split and 102 to join
    // Each part has a spectrum of its own, which comes from memory: of 2^24 and 2^26 points 288 and 1,295 us.
    constexpr double kOwnSpectra = 1.4;
    const PointType type = point_type_of(p);
    const double read = static_cast<double>(std::min<std::int64_t>(cut.samples, p.x.n)) * type.bytes;
    const double written = static_cast<double>(std::min<std::int64_t>(cut.outputs, p.x.outputs)) * type.bytes;
    const double moved = read + written + 2.0 * static_cast<double>(cut.points * type.point_bytes);
    return 8 * kLaunchSeconds + moved / (kShareOfCopyHere * device.copy_bytes_per_second) +
           kOwnSpectra * estimate(problem_of_parts(p, cut), cut_of_parts(cut), device);
}
double seconds_of(const Problem& p, const LargeCut& cut, const cuda_abi::Device& device) {
    const auto segments = static_cast<double>(segments_of_row(cut, p.x.outputs) * p.batch.length);
    return segments * seconds_of_segment(p, cut, device);
}

int best_bits(const Problem& p, const cuda_abi::Device& device) {
    return best_bits(
        p, {.least = kLeastLongBits, .most = kMostLongBits, .endless = std::int64_t{1} << 34},
        [&](int bits) { return has_size(p, bits, device); }, cut_of,
        [&](const Problem& some, const LargeCut& cut) { return seconds_of(some, cut, device); });
}

class OverlapSaveLong final : public Rung, public TakesTapsOnDevice {
public:
    static constexpr Head kHead{"46", "overlap_save_long", "", R"(
Idea: a segment of up to 268 million samples is split into 32 parts by one pass over memory, each a cyclic convolution of its own,
which large segments' kernel does in the L2 cache; one more pass joins their outputs
Changed: one more step of the transform before and after: parts instead of points go through the L2 cache
Requires: one filter for all rows, more than 262,144 taps and fewer than a segment has samples; not for strict accuracy
Limited by: memory, through which every point passes four times
)"};

    OverlapSaveLong()
        : Rung(kHead, {.source = "src/cuda/families/overlap_save/long/overlap_save_long.cuh", .takes_pieces = 1, .is_local = 0}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (pick_long_kernels(p.dtype).split == nullptr) { return "integers are exact on the CPU only"; }
        if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
        if (p.x.k < kLeastTaps) { return "fewer than " + std::to_string(kLeastTaps) + " taps: shorter segments are sooner done"; }
        if (p.filters > 1 && !p.taps_come_later) {
            return "a filter for each row: a long segment's spectrum would be read for one row only";
        }
        if (best_bits(p, device) == 0) {
            return std::to_string(p.x.k) + " taps: more than a segment of the largest size that fits the GPU's memory has room for";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return seconds_of(p, cut_of(p, best_bits(p, device)), device) * slowdown_of_layout(p);
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all;
        const int best = best_bits(p, device);
        if (best != 0) { all.push_back({0, 1 << (best - 5), 0, 0}); }
        for (int bits = kLeastLongBits; bits <= kMostLongBits; ++bits) {
            if (bits != best && has_size(p, bits, device)) { all.push_back({0, 1 << (bits - 5), 0, 0}); }
        }
        return all;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        return kStateBytes + (chosen.cut.points + chosen.ring.slots * chosen.part.points) * chosen.type.point_bytes;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        return "segments of " + std::to_string(chosen.cut.samples) + " samples, " + std::to_string(chosen.cut.outputs) +
               " outputs each, in " + std::to_string(kParts) + " parts";
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        return prepared.chosen_as<ChosenLong>().cut.outputs;
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenLong>();
        chosen->type = point_type_of(p);
        chosen->cut = choose_cut(prepared);
        chosen->part = cut_of_parts(chosen->cut);
        chosen->parts = problem_of_parts(p, chosen->cut);
        chosen->kernels = pick_long_kernels(p.dtype);
        chosen->taps_kernel =
            pick_long_taps_kernel(p.taps_dtype, chosen->type.is_complex, !p.taps_come_later || chosen->type.is_wide());
        chosen->large = kernel_of(chosen->parts, chosen->part.bits);
        chosen->ring = ring_of(chosen->parts, chosen->part, prepared.device);
        load_kernel(chosen->kernels.split);
        load_kernel(chosen->kernels.join);
        load_kernel(chosen->taps_kernel);
        load_kernel(chosen->large.function, static_cast<std::size_t>(chosen->large.shared_bytes), prepared.device);
        chosen->order = load_order(prepared);
        if (p.taps_come_later) {
            load_kernel(chosen->large.spectrum, static_cast<std::size_t>(chosen->large.shared_bytes), prepared.device);
        } else {
            load_parts_spectra(prepared, chosen->part.bits);
        }
        return chosen;
    }
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        std::vector<std::byte> bytes;
        append(bytes, large_tables(chosen.large.radix, chosen.large.warps, true, chosen.type.is_wide()), chosen.type.is_wide());
        return bytes;
    }
    [[nodiscard]] std::int64_t filled_table_bytes(const Prepared& prepared) const override { return spectra_bytes(prepared); }
    void fill_tables(const Prepared& prepared, void* to, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        const DeviceMemory wide(prepared.device.index,
                                chosen.type.is_wide() ? 0 : chosen.cut.points * static_cast<std::int64_t>(sizeof(double2)));
        void* const points = chosen.type.is_wide() ? to : wide.pointer;
        split_taps(prepared, prepared.on_device.taps, points, stream);
        make_parts_spectra(prepared, chosen.part, kParts, points, to, stream);
    }
    [[nodiscard]] std::int64_t made_table_bytes(const Prepared& prepared) const override { return spectra_bytes(prepared); }
    [[nodiscard]] std::int64_t most_filters() const override { return 1; }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] double making_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const LargeCut cut = cut_of(p, best_bits(p, device));
        const double moved = 8.0 * static_cast<double>(cut.points) * point_type_of(p).point_bytes;
        return static_cast<double>(p.filters) *
               (4 * kLaunchSeconds + ordering_seconds(p, device) + moved / device.copy_bytes_per_second);
    }
    void load_tables(const Prepared&) const override {}  // load() does
    void launch_with_taps(const Prepared& prepared, const Job& job, void* workspace, const MadeTables& made,
                          cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        launch_order(chosen.order, prepared, made.taps, made.given, {}, stream);
        split_taps(prepared, made.taps, made.tables, stream);
        LargeSegments g{};
        g.tables = prepared.on_device.tables;
        g.state = static_cast<LargeState*>(workspace);
        g.spectra = kParts;
        g.given = g.made_spectrum = made.tables;
        g.conjugated = 1;
        Arguments a{};
        a.k = chosen.part.points;
        check(cudaMemsetAsync(g.state, 0, sizeof(LargeState), stream), "cudaMemsetAsync");
        launch_large(prepared, chosen.large.spectrum, kParts * tasks_of(chosen.part), a, g, stream);
        launch_segments(prepared, job, made.taps, made.tables, workspace, stream);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        const std::int64_t ready_bytes =
            std::int64_t{LargeTables(chosen.large.radix, chosen.large.warps, chosen.type.is_wide()).end} * chosen.type.point_bytes;
        launch_segments(prepared, job, on_device.taps, static_cast<const char*>(on_device.tables) + ready_bytes, workspace, stream);
    }

private:
    // In the workspace: two states of the parts' launches, of which the second follows an overflow, then the segment's.
    static constexpr std::int64_t kLargeStateBytes = (sizeof(LargeState) + 255) / 256 * 256;
    static constexpr std::int64_t kStatesBytes = 2 * kLargeStateBytes + static_cast<std::int64_t>(sizeof(LongState));
    static constexpr std::int64_t kStateBytes = (kStatesBytes + 255) / 256 * 256;

    struct ChosenLong : Chosen {
        LargeCut cut, part;
        Problem parts;
        PointType type{};
        LongKernels kernels;
        LongKernel taps_kernel = nullptr;
        LargeKernel large;
        Ring ring{};
        OrderPlan order;
    };

    static LargeCut choose_cut(const Prepared& prepared) {
        const Problem& p = prepared.problem;
        int bits = 0;
        while (prepared.policy.threads_per_block != 0 && 32 * std::int64_t{prepared.policy.threads_per_block} != 1 << bits &&
               bits < 30) {
            ++bits;
        }
        if (bits != 0 && (bits < kLeastLongBits || bits > kMostLongBits || !has_size(p, bits, prepared.device))) {
            throw CudaError(cuda_abi::Code::argument, "policy: no segments of this size");
        }
        return cut_of(p, bits != 0 ? bits : best_bits(p, prepared.device));
    }
    static std::int64_t spectra_bytes(const Prepared& prepared) {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        return chosen.cut.points * chosen.type.point_bytes;
    }
    static unsigned blocks_of(const LargeCut& part) { return static_cast<unsigned>(part.points / kLongThreads); }

    /// Taps in correlation order to parts, of which the inverse transforms' factor is 1 / kParts.
    static void split_taps(const Prepared& prepared, const void* taps, void* points, cudaStream_t stream) {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        Arguments a{};
        a.in = taps;
        a.in_last = a.n = prepared.problem.x.k;
        a.in_sample = 1;
        a.boundary = kZero;
        LongSegment g{};
        g.points = points;
        g.start = -chosen.cut.skip;
        g.part_bits = chosen.part.bits;
        g.used = static_cast<int>(chosen.cut.samples);
        g.of_taps = 1;
        g.scale = 1.0 / kParts;
        launch_kernel(chosen.taps_kernel, blocks_of(chosen.part), kLongThreads, 0, stream, a, g);
    }
    static void launch_large(const Prepared& prepared, LargeSegmentKernel kernel, std::int64_t tasks, const Arguments& a,
                             const LargeSegments& g, cudaStream_t stream) {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        launch_kernel(kernel, static_cast<unsigned>(std::min(blocks_at_once(chosen.parts, prepared.device), tasks)), kTileThreads,
                      static_cast<std::size_t>(chosen.large.shared_bytes), stream, a, g);
    }

    static void launch_segments(const Prepared& prepared, const Job& job, const void* taps, const void* spectra, void* workspace,
                                cudaStream_t stream) {
        const auto& chosen = prepared.chosen_as<ChosenLong>();
        const LargeCut& cut = chosen.cut;
        const LargeCut& part = chosen.part;
        auto* const states = static_cast<char*>(workspace);
        void* const points = states + kStateBytes;
        const Arguments a = arguments_of(prepared, job, {.taps = taps});
        LongSegment g{};
        g.points = points;
        g.state = reinterpret_cast<LongState*>(states + 2 * kLargeStateBytes);
        g.part_bits = part.bits;
        g.skip = cut.skip;
        g.used = cut.used;
        g.real_taps = has_real_taps(prepared.problem);

        // The parts, where they lie: rows of complex samples whose outputs wrap around.
        Arguments rows{};
        rows.out = points;
        rows.in = points;
        rows.count = rows.in_last = rows.n = rows.in_row = rows.out_row = part.points;
        rows.in_sample = rows.out_sample = 1;
        rows.rows = kParts;
        rows.boundary = kZero;
        rows.scale = 1;
        rows.plain_store = rows.plain_layout = 1;
        LargeSegments of_parts{};
        of_parts.tables = prepared.on_device.tables;
        of_parts.spectrum = spectra;
        of_parts.points = static_cast<char*>(points) + cut.points * chosen.type.point_bytes;
        of_parts.segments = kParts;
        of_parts.of_row = of_parts.inner_last = 1;
        of_parts.outputs = of_parts.used = part.outputs;
        of_parts.order = order_of(chosen.parts, part, chosen.ring, kParts, prepared.device);
        of_parts.plain = of_parts.aligned = of_parts.paired = of_parts.are_parts = 1;
        of_parts.spectra_mask = kParts - 1;

        for (g.row = 0; g.row < job.batch; ++g.row) {
            for (g.first_output = 0; g.first_output < job.count; g.first_output += cut.outputs) {
                g.start = a.first - a.origin - cut.skip - a.in_first + g.first_output;
                g.wanted = static_cast<int>(std::min<std::int64_t>(cut.outputs, job.count - g.first_output));
                g.used = cut.used - (cut.outputs - g.wanted);
                check(cudaMemsetAsync(states, 0, static_cast<std::size_t>(kStatesBytes), stream), "cudaMemsetAsync");
                // Once more if something overflows: with samples so much smaller, that the largest ones' sums are finite.
                for (g.again = 0; g.again < 2; ++g.again) {
                    g.scale = g.again == 0 ? 1 : 0x1p-64;
                    of_parts.only_if = g.again == 0 ? nullptr : &g.state->overflown;
                    of_parts.state = reinterpret_cast<LargeState*>(states + g.again * kLargeStateBytes);
                    launch_kernel(chosen.kernels.split, blocks_of(part), kLongThreads, 0, stream, a, g);
                    launch_large(prepared, chosen.large.function, 2 * (kParts + of_parts.order.slots) * tasks_of(part), rows,
                                 of_parts, stream);
                    launch_kernel(chosen.kernels.join, blocks_of(part), kLongThreads, 0, stream, a, g);
                }
            }
        }
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_long() { return core::only<overlap_save::OverlapSaveLong>(); }

}  // namespace tapline::cuda
