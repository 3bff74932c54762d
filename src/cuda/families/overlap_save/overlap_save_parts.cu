// The rung of filters longer than a segment.
#include <algorithm>

#include "cuda/check.hpp"
#include "cuda/families/overlap_save/overlap_save_host.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

// Segments of a chunk for each multiprocessor: its sums, 33 MiB on an H200, stay in the L2 cache for the most part from one part to
// the next. A launch's start costs as much as a segment: with 2 each part took 23 us a segment, of which 14 are the segment's own.
constexpr std::int64_t kSegmentsAtOnce = 4;

// The largest segments, half of each for the taps: parts times segments are fewest then.
Cut cut_of_part(const Problem& p, const cuda_abi::Device& device) {
    for (auto warps = kWarpCounts.rbegin(); warps != kWarpCounts.rend(); ++warps) {
        const std::int64_t samples = cut_of(p, *warps, 1).samples;
        if (*warps >= kLeastWarpsOfParts && has_size(p, *warps, samples / 2, device)) { return cut_of(p, *warps, samples / 2); }
    }
    return {};
}

class OverlapSaveParts final : public Rung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "28";
        info.name = "overlap_save_parts";
        info.idea =
            "a filter of any length is cut into parts, each convolved by segments as in rung 27; the sums of a chunk of outputs "
            "stay in the L2 cache from one part to the next";
        info.changed = "the filter is longer than a segment, so the signal passes once for every part";
        info.requirements = "more taps than half of the longest segment has samples; not for strict accuracy";
        info.limited_by = "transforms: each part's are made anew for every chunk";
        info.source = "src/cuda/families/overlap_save/overlap_save_parts.cu";
        info.takes_pieces = 1;
        info.is_local = 0;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (fast_kernel(p, 1, device).function == nullptr) { return "integers are exact on the CPU only"; }
        if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
        const Cut cut = cut_of_part(p, device);
        if (cut.outputs == 0) { return "segments of several thousand samples do not fit a multiprocessor's shared memory"; }
        if (p.x.k <= cut.taps) { return "at most " + std::to_string(cut.taps) + " taps: one part"; }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const Cut cut = cut_of_part(p, device);
        return estimate_parts(p, cut, kSegmentsAtOnce, device);
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const Cut cut = cut_of_part(prepared.problem, prepared.device);
        const std::int64_t outputs = kSegmentsAtOnce * prepared.device.multiprocessors * cut.outputs;
        return outputs * sum_bytes(prepared.problem);
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Cut cut = cut_of_part(prepared.problem, prepared.device);
        return std::to_string(parts_of(prepared.problem.x.k, cut).size()) + " parts of " + std::to_string(cut.taps) +
               " taps, segments of " + std::to_string(cut.samples) + " samples";
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        return cut_of_part(prepared.problem, prepared.device).outputs;
    }
    [[nodiscard]] std::vector<std::byte> tables(const Prepared& prepared) const override {
        return make_tables(prepared, cut_of_part(prepared.problem, prepared.device));
    }
    void load(const Prepared& prepared) const override {
        load_kernels(prepared, cut_of_part(prepared.problem, prepared.device).warps);
    }
    void launch(const Prepared& prepared, const Job& job, void* workspace, cudaStream_t stream) const override {
        const Cut cut = cut_of_part(prepared.problem, prepared.device);
        const std::int64_t room = prepared.workspace_bytes / sum_bytes(prepared.problem);
        // Whole segments of a row, or several whole rows; one segment of each if there are rows for all multiprocessors: then parts
        // that read nothing but zeros are left out.
        const bool by_segments = job.batch >= kSegmentsAtOnce * prepared.device.multiprocessors;
        const std::int64_t outputs = std::min(job.count, by_segments ? cut.outputs : room / cut.outputs * cut.outputs);
        const std::int64_t rows = std::clamp<std::int64_t>(room / outputs, 1, job.batch);
        Launch launch;
        launch.sums_row = outputs;
        for (launch.first_output = 0; launch.first_output < job.count; launch.first_output += outputs) {
            launch.count = std::min(outputs, job.count - launch.first_output);
            const std::vector<std::int64_t> parts = parts_that_read(prepared.problem, job, cut, launch);
            for (launch.row = 0; launch.row < job.batch; launch.row += rows) {
                launch.rows = std::min(rows, job.batch - launch.row);
                for (const std::int64_t part : parts) {
                    launch.part = part;
                    launch.sums_in = part == parts.front() ? nullptr : workspace;
                    launch.sums_out = part == parts.back() ? nullptr : workspace;
                    launch_segments(prepared, job, cut, launch, stream);
                }
            }
        }
    }

private:
    // Under a zero boundary those whose samples, for the launch's outputs, do not all lie outside the signal; one at least.
    static std::vector<std::int64_t> parts_that_read(const Problem& p, const Job& job, const Cut& cut, const Launch& launch) {
        const std::vector<Part> all = parts_of(p.x.k, cut);
        std::vector<std::int64_t> parts;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::int64_t first = job.first + launch.first_output - p.x.origin + all[i].own;
            const std::int64_t end = job.first + launch.first_output + launch.count - 1 - p.x.origin + all[i].own_end;
            const bool outside = end <= 0 || (job.n >= 0 && first >= job.n);
            if (p.x.boundary != kZero || !outside) { parts.push_back(static_cast<std::int64_t>(i)); }
        }
        if (parts.empty()) { parts.push_back(0); }
        return parts;
    }
    static std::int64_t sum_bytes(const Problem& p) {
        const Type type = type_of(p);
        return type.is_complex ? type.point_bytes : type.point_bytes / 2;
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_parts() {
    static const overlap_save::OverlapSaveParts rung;
    return rung;
}

}  // namespace tapline::cuda
