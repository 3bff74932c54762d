#include "cuda/families/overlap_save/overlap_save_rung.hpp"

#include <algorithm>
#include <limits>

#include "cuda/check.hpp"
#include "cuda/families/overlap_save/row/overlap_save_row.hpp"
#include "cuda/families/overlap_save/overlap_save_spectrum.hpp"
#include "cuda/families/production.hpp"
#include "cuda/families/taken.hpp"

namespace tapline::cuda::overlap_save {
namespace {

bool by_rows(const Prepared& prepared, const Cut& cut) { return takes_rows(prepared.problem, cut.warps, prepared.device); }

bool plan_takes_segments(const Prepared& prepared, const Cut& cut) {
    const Problem& p = prepared.problem;
    return takes_segments(prepared, cut, p.batch.length * divide_up(p.x.outputs, cut.outputs));
}

}  // namespace

Problem SegmentRung::compared_on(const Problem& p, const cuda_abi::Device& device) const {
    // Rows that fill the device by themselves are often no longer than their filters: then long segments would be half empty.
    // Rows of 4,096 with as many taps: 4 warps 1152 us, 8 warps 2380; with 1,024 taps in rows of 8,192: 1 warp 513 us, 2 warps 507.
    constexpr std::int64_t kRowsOfAMultiprocessor = 4;
    if (p.filters > 1 && p.batch.length >= kRowsOfAMultiprocessor * device.multiprocessors) {
        Problem rows = p;
        rows.n = rows.output_length = p.x.k;
        return rows;
    }
    Problem endless = p;
    endless.n = endless.output_length = std::int64_t{1} << 28;
    endless.batch = 1;
    return endless;
}

int SegmentRung::best_warps(const Problem& p, const cuda_abi::Device& device) const {
    const Problem endless = compared_on(p, device);
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const int warps : warp_counts_) {
        if (!has_size(p, warps, p.x.k, device)) { continue; }
        const double seconds = estimate(endless, cut_of(p, warps, p.x.k), device);
        if (seconds < least) {
            least = seconds;
            best = warps;
        }
    }
    return best;
}

Cut SegmentRung::cut_of_prepared(const Prepared& prepared) const {
    const Problem& p = prepared.problem;
    // Choosing takes microseconds, which short signals notice.
    if (prepared.segment_warps != 0) { return cut_of(p, prepared.segment_warps, p.x.k); }
    const int asked = prepared.policy.threads_per_block / 32;
    const bool known = std::find(warp_counts_.begin(), warp_counts_.end(), asked) != warp_counts_.end();
    if (asked != 0 && !(known && has_size(p, asked, p.x.k, prepared.device))) {
        throw CudaError(cuda_abi::Code::argument, "policy: no segments of this size");
    }
    return cut_of(p, asked != 0 ? asked : best_warps(p, prepared.device), p.x.k);
}

Refusal SegmentRung::supports(const Problem& p, const cuda_abi::Device& device) const {
    if (slow_kernel(p, warp_counts_.front()).function == nullptr) { return "integers are exact on the CPU only"; }
    if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
    if (best_warps(p, device) == 0) {
        return std::to_string(p.x.k) + " taps: more than a segment in " + place_ + "'s shared memory has room for";
    }
    return {};
}

double SegmentRung::estimate_seconds(const Problem& p, const cuda_abi::Device& device) const {
    return estimate(p, cut_of(p, best_warps(p, device), p.x.k), device);
}

std::vector<Policy> SegmentRung::policies(const Problem& p, const cuda_abi::Device& device) const {
    std::vector<Policy> all;
    const int best = best_warps(p, device);
    if (best != 0) { all.push_back({0, 32 * best, 0, 0}); }
    for (const int warps : warp_counts_) {
        if (has_size(p, warps, p.x.k, device)) { all.push_back({0, 32 * warps, 0, 0}); }
    }
    return all;
}

std::string SegmentRung::describe(const Prepared& prepared) const {
    const Cut cut = cut_of_prepared(prepared);
    if (by_rows(prepared, cut)) {
        const bool halves = takes_halves(prepared.problem, cut.warps, prepared.device);
        return "whole rows, " + std::string(halves ? "for each half " : "") + "a transform of " +
               std::to_string(row_points(cut.warps) / (halves ? 2 : 1)) + " points" + (halves ? "" : " each");
    }
    const int blocks = slow_kernel(prepared.problem, cut.warps).blocks;
    const int sharing = blocks > 1 ? blocks : cut.warps;
    return "segments of " + std::to_string(cut.samples) + " samples, " + std::to_string(cut.outputs) + " outputs each, " +
           std::to_string(sharing) + (blocks > 1 ? " block" : " warp") + (sharing > 1 ? "s" : "") + " a segment";
}

std::int64_t SegmentRung::granularity(const Prepared& prepared) const { return cut_of_prepared(prepared).outputs; }

std::int64_t SegmentRung::workspace_bytes(const Prepared& prepared) const {
    const Cut cut = cut_of_prepared(prepared);
    if (by_rows(prepared, cut)) { return row_workspace_bytes(prepared, cut.warps); }
    return plan_takes_segments(prepared, cut) ? kTakenBytes : 0;
}

std::vector<std::byte> SegmentRung::tables(const Prepared& prepared) const {
    const Cut cut = cut_of_prepared(prepared);
    std::vector<std::byte> bytes = make_tables(prepared, cut);
    if (by_rows(prepared, cut)) { append_row_tables(bytes, prepared, cut.warps); }
    return bytes;
}

void SegmentRung::load(const Prepared& prepared) const {
    const Cut cut = cut_of_prepared(prepared);
    prepared.segment_warps = cut.warps;
    load_kernels(prepared, cut.warps);
    if (by_rows(prepared, cut)) { load_row_kernel(prepared, cut.warps); }
}

void SegmentRung::launch(const Prepared& prepared, const Job& job, void* workspace, cudaStream_t stream) const {
    const Cut cut = cut_of_prepared(prepared);
    const bool rows = by_rows(prepared, cut);
    if (rows && takes_job(job, cut.warps)) {
        const void* const tables = static_cast<const char*>(prepared.tables) + table_bytes(prepared.problem, cut);
        return launch_rows(prepared, job, cut.warps, tables, workspace, stream);
    }
    Launch launch;
    launch.rows = job.batch;
    launch.count = job.count;
    if (!rows && plan_takes_segments(prepared, cut)) { launch.taken = workspace; }
    launch_segments(prepared, job, cut, launch, stream);
}

std::int64_t SegmentRung::made_table_bytes(const Prepared& prepared) const {
    return table_bytes(prepared.problem, cut_of_prepared(prepared));
}

void SegmentRung::load_tables(const Prepared& prepared) const { load_spectrum_kernel(prepared.problem); }

void SegmentRung::launch_tables(const Prepared& prepared, void* tables, void* taps, const cuda_abi::DeviceTaps& given,
                                cudaStream_t stream) const {
    const Problem& p = prepared.problem;
    const Cut cut = cut_of_prepared(prepared);
    SpectrumJob job = spectrum_job(prepared, tables, taps, given);
    job.ready_bytes = table_bytes(p, cut) - spectrum_bytes(p, cut);
    job.skip = cut.skip;
    job.batch = 1;
    job.warps = cut.warps;
    const Kernel kernel = slow_kernel(p, cut.warps);
    job.for_block = kernel.blocks == 1 ? 1 : 0;
    job.order = kernel.in_couples ? SpectrumOrder::couples : SpectrumOrder::plain;
    launch_spectrum(p, job, stream);
}

}  // namespace tapline::cuda::overlap_save
