// The rung of filters longer than a segment.
#include <algorithm>

#include "cuda/check.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

// Segments of a chunk for each multiprocessor: its sums, 33 MiB on an H200, stay in the L2 cache for the most part from one part to
// the next. A launch's start costs as much as a segment: with 2 each part took 23 us a segment, of which 14 are the segment's own.
constexpr std::int64_t kSegmentsAtOnce = 4;
// Spectra that no other row reads. H100, 512 rows of 65,536 with as many taps each, in calls that compare the taps: 3.35 ms in
// parts, 2.65 by clusters.
constexpr double kOwnSpectra = 1.3;

// The largest segments, half of each for the taps: parts times segments are fewest then.
Cut cut_of_part(const Problem& p, const cuda_abi::Device& device) {
    for (auto warps = kWarpCounts.rbegin(); warps != kWarpCounts.rend(); ++warps) {
        const std::int64_t samples = cut_of(p, *warps, 1).samples;
        if (*warps >= kLeastWarpsOfParts && has_size(segment_kernel_of, p, *warps, samples / 2, device)) {
            return cut_of(p, *warps, samples / 2);
        }
    }
    return {};
}

class OverlapSaveParts final : public Rung, public MakesTables {
public:
    static constexpr Head kHead{"28", "overlap_save_parts", "", R"(
Idea: a filter of any length is cut into parts, each convolved by segments as in rung 27; the sums of a chunk of outputs stay in
the L2 cache from one part to the next
Changed: the filter is longer than a segment, so the signal passes once for every part
Requires: more taps than half of the longest segment has samples; not for strict accuracy
Limited by: transforms: each part's are made anew for every chunk
)"};

    OverlapSaveParts()
        : Rung(kHead,
               {.source = "src/cuda/families/overlap_save/segment/overlap_save_parts.cpp", .takes_pieces = 1, .is_local = 0}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (fast_kernel(segment_kernel_of, p, 1, device).function == nullptr) { return "integers are exact on the CPU only"; }
        if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
        const Cut cut = cut_of_part(p, device);
        if (cut.outputs == 0) { return "segments of several thousand samples do not fit a multiprocessor's shared memory"; }
        if (p.x.k <= cut.taps) { return "at most " + std::to_string(cut.taps) + " taps: one part"; }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Cut cut = cut_of_part(p, device);
        return estimate_parts(p, cut, kSegmentsAtOnce, device) * (p.filters > 1 ? kOwnSpectra : 1);
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const SegmentPlan& plan = plan_of(prepared);
        return kSegmentsAtOnce * prepared.device.multiprocessors * plan.cut.outputs * plan.type.sum_bytes();
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const SegmentPlan& plan = plan_of(prepared);
        return std::to_string(plan.parts.size()) + " parts of " + std::to_string(plan.cut.taps) + " taps, segments of " +
               std::to_string(plan.cut.samples) + " samples";
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override { return plan_of(prepared).cut.outputs; }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenParts>();
        chosen->plan = load_segments(segment_kernel_of, prepared, cut_of_part(prepared.problem, prepared.device));
        chosen->spectra = load_spectra_on_device(prepared, chosen->plan);
        chosen->order = load_order(prepared);
        return chosen;
    }
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        std::vector<std::byte> bytes = make_tables(plan_of(prepared));
        if (filled_table_bytes(prepared) == 0) { append_spectra(bytes, prepared, plan_of(prepared)); }
        return bytes;
    }
    [[nodiscard]] std::int64_t filled_table_bytes(const Prepared& prepared) const override {
        const auto& chosen = prepared.chosen_as<ChosenParts>();
        return !chosen.spectra.exists() ? 0 : all_spectra_bytes(prepared.problem, chosen.plan);
    }
    void fill_tables(const Prepared& prepared, void* to, cudaStream_t stream) const override {
        launch_plan_spectra(prepared.chosen_as<ChosenParts>().spectra, prepared.on_device.taps, to, stream);
        check(cudaStreamSynchronize(stream), "making spectra");
    }
    [[nodiscard]] std::int64_t made_table_bytes(const Prepared& prepared) const override {
        return table_bytes(prepared.problem, plan_of(prepared));
    }
    [[nodiscard]] double making_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Cut cut = cut_of_part(p, device);
        const auto spectra = p.filters * static_cast<std::int64_t>(parts_of(p.x.k, cut).size());
        return ordering_seconds(p, device) + spectra_seconds(p, std::int64_t{kPoints} * cut.warps, spectra, false, device);
    }
    void load_tables(const Prepared&) const override {}  // load() does
    void launch_tables(const Prepared& prepared, void* tables, void* taps, const GivenFilters& given,
                       cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenParts>();
        launch_later_spectra(prepared, chosen.order, chosen.spectra, spectrum_shape(chosen.plan).ready_bytes, tables, taps, given,
                             stream);
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const SegmentPlan& plan = plan_of(prepared);
        const std::int64_t room = workspace_bytes(prepared) / plan.type.sum_bytes();
        // Whole segments of a row, or several whole rows; one segment of each if there are rows for all multiprocessors: then parts
        // that read nothing but zeros are left out.
        const bool by_segments = job.batch >= kSegmentsAtOnce * prepared.device.multiprocessors;
        const std::int64_t segment = plan.cut.outputs;
        const std::int64_t outputs = std::min(job.count, by_segments ? segment : room / segment * segment);
        const std::int64_t rows = std::clamp<std::int64_t>(room / outputs, 1, job.batch);
        Launch launch;
        launch.sums_row = outputs;
        for (launch.first_output = 0; launch.first_output < job.count; launch.first_output += outputs) {
            launch.count = std::min(outputs, job.count - launch.first_output);
            const Range parts = parts_that_read(prepared.problem, job, plan.parts, launch);
            for (launch.row = 0; launch.row < job.batch; launch.row += rows) {
                launch.rows = std::min(rows, job.batch - launch.row);
                for (launch.part = parts.first; launch.part <= parts.last; ++launch.part) {
                    launch.sums_in = launch.part == parts.first ? nullptr : workspace;
                    launch.sums_out = launch.part == parts.last ? nullptr : workspace;
                    launch_segments(prepared, plan, job, on_device, launch, stream);
                }
            }
        }
    }

private:
    struct ChosenParts : Chosen {
        SegmentPlan plan;
        SpectrumPlan spectra;  // where they are made on the device
        OrderPlan order;       // where taps come later
    };
    static const SegmentPlan& plan_of(const Prepared& prepared) { return prepared.chosen_as<ChosenParts>().plan; }

    // Under a zero boundary those whose samples, for the launch's outputs, do not all lie outside the signal, which follow each
    // other; one at least.
    struct Range {
        std::int64_t first, last;
    };
    static Range parts_that_read(const Problem& p, const Job& job, const std::vector<Part>& all, const Launch& launch) {
        const auto last = static_cast<std::int64_t>(all.size()) - 1;
        if (p.x.boundary != kZero) { return {0, last}; }
        const auto reads = [&](std::int64_t i) {
            const Part& part = all[static_cast<std::size_t>(i)];
            const std::int64_t first = job.first + launch.first_output - p.x.origin + part.own;
            const std::int64_t end = job.first + launch.first_output + launch.count - 1 - p.x.origin + part.own_end;
            return end > 0 && (job.n < 0 || first < job.n);
        };
        Range range{0, last};
        while (range.first < last && !reads(range.first)) { ++range.first; }
        while (range.last > range.first && !reads(range.last)) { --range.last; }
        return range;
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_parts() { return core::only<overlap_save::OverlapSaveParts>(); }

}  // namespace tapline::cuda
