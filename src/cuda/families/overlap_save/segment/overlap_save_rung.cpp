#include "cuda/families/overlap_save/segment/overlap_save_rung.hpp"

#include <algorithm>
#include <limits>

#include "cuda/check.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/taken.hpp"
#include "cuda/families/overlap_save/overlap_save_spectrum.hpp"
#include "cuda/families/overlap_save/row/overlap_save_row.hpp"

namespace tapline::cuda::overlap_save {
namespace {

struct ChosenSegments : Chosen {
    SegmentPlan plan;
    bool by_rows = false;
    RowPlan rows;  // where they are taken as a whole
    bool takes_segments = false;
    SpectrumPlan spectra, spectra_of_rows;  // of the plan's taps, where they are made on the device
    // Where taps come later: what makes one filter's at once, what puts several in order for `spectra` or `spectra_of_rows`.
    SpectrumPlan spectrum;
    OrderPlan order;

    // Whether all that is launched takes whole rows, so that nothing else needs tables.
    [[nodiscard]] bool only_rows() const { return by_rows && order.kernel != nullptr; }
};

}  // namespace

Problem SegmentRung::compared_on(const Problem& p, const cuda_abi::Device& device) const {
    // Rows that fill the device by themselves are often no longer than their filters: then long segments would be half empty.
    // Rows of 4,096 with as many taps: 4 warps 1152 us, 8 warps 2380; with 1,024 taps in rows of 8,192: 1 warp 513 us, 2 warps 507.
    constexpr std::int64_t kRowsOfAMultiprocessor = 4;
    if (p.filters > 1 && p.batch.length >= kRowsOfAMultiprocessor * device.multiprocessors) {
        Problem rows = p;
        rows.x.n = rows.x.outputs = p.x.k;
        return rows;
    }
    // The same of one filter: what counts is how much of its last segment a row fills. 65,536 rows of 1,000 with 999 taps by one
    // warp, which holds a row, where two are better for an endless signal.
    const bool by_tiles = goes_by_tiles(kernel_of_, p, warp_counts_.front());
    const std::int64_t rows = p.batch.length * (by_tiles ? p.outer_length() : 1);
    if (rows >= kRowsOfAMultiprocessor * device.multiprocessors) { return p; }
    Problem endless = p;
    endless.x.n = endless.x.outputs = std::int64_t{1} << 28;
    // Neighbouring rows that come together read what each alone would read for nothing.
    if (!by_tiles) { endless.batch.length = 1; }
    return endless;
}

int SegmentRung::best_warps(const Problem& p, const cuda_abi::Device& device) const {
    const Problem endless = compared_on(p, device);
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const int warps : warp_counts_) {
        if (!has_size(kernel_of_, p, warps, p.x.k, device)) { continue; }
        const double seconds = estimate(kernel_of_, endless, cut_of(p, warps, p.x.k), device);
        if (seconds < least) {
            least = seconds;
            best = warps;
        }
    }
    return best;
}

Cut SegmentRung::choose_cut(const Prepared& prepared) const {
    const Problem& p = prepared.problem;
    const int asked = prepared.policy.threads_per_block / 32;
    const bool known = std::find(warp_counts_.begin(), warp_counts_.end(), asked) != warp_counts_.end();
    if (asked != 0 && !(known && has_size(kernel_of_, p, asked, p.x.k, prepared.device))) {
        throw CudaError(cuda_abi::Code::argument, "policy: no segments of this size");
    }
    return cut_of(p, asked != 0 ? asked : best_warps(p, prepared.device), p.x.k);
}

Refusal SegmentRung::supports(const Problem& p, const cuda_abi::Device& device) const {
    if (p.is_exact() || slow_kernel(kernel_of_, p, warp_counts_.front()).function == nullptr) {
        return "integers are exact on the CPU only";
    }
    if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
    if (best_warps(p, device) == 0) {
        return std::to_string(p.x.k) + " taps: more than a segment in " + where_ + "'s shared memory has room for";
    }
    return {};
}

double SegmentRung::estimate_seconds(const Problem& p, const cuda_abi::Device& device) const {
    return estimate(kernel_of_, p, cut_of(p, best_warps(p, device), p.x.k), device);
}

std::vector<Policy> SegmentRung::policies(const Problem& p, const cuda_abi::Device& device) const {
    std::vector<Policy> all;
    const int best = best_warps(p, device);
    if (best != 0) { all.push_back({0, 32 * best, 0, 0}); }
    for (const int warps : warp_counts_) {
        if (has_size(kernel_of_, p, warps, p.x.k, device)) { all.push_back({0, 32 * warps, 0, 0}); }
    }
    return all;
}

std::string SegmentRung::describe(const Prepared& prepared) const {
    const auto& chosen = prepared.chosen_as<ChosenSegments>();
    if (chosen.by_rows) { return describe_rows(chosen.rows); }
    const Cut& cut = chosen.plan.cut;
    const int blocks = chosen.plan.slow.blocks;
    const int sharing = blocks > 1 ? blocks : cut.warps;
    return "segments of " + std::to_string(cut.samples) + " samples, " + std::to_string(cut.outputs) + " outputs each, " +
           std::to_string(sharing) + (blocks > 1 ? " block" : " warp") + (sharing > 1 ? "s" : "") + " a segment";
}

std::int64_t SegmentRung::granularity(const Prepared& prepared) const {
    return prepared.chosen_as<ChosenSegments>().plan.cut.outputs;
}

std::int64_t SegmentRung::workspace_bytes(const Prepared& prepared) const {
    const auto& chosen = prepared.chosen_as<ChosenSegments>();
    return chosen.by_rows ? chosen.rows.workspace_bytes : chosen.takes_segments ? kTakenBytes : 0;
}

std::unique_ptr<const Chosen> SegmentRung::load(const Prepared& prepared) const {
    const Problem& p = prepared.problem;
    const Cut cut = choose_cut(prepared);
    auto chosen = std::make_unique<ChosenSegments>();
    chosen->plan = load_segments(kernel_of_, prepared, cut);
    chosen->by_rows = takes_rows(p, cut.warps, prepared.device);
    if (chosen->by_rows) {
        chosen->rows = load_rows(prepared, cut.warps);
    } else {
        chosen->takes_segments = takes_segments(prepared, cut, p.batch.length * divide_up(p.x.outputs, cut.outputs));
    }
    if (p.taps_come_later && p.filters == 1) { chosen->spectrum = load_spectrum(p, spectrum_shape(chosen->plan)); }
    chosen->order = load_order(prepared);
    chosen->spectra = load_spectra_on_device(prepared, chosen->plan);
    if (chosen->by_rows && chosen->spectra.exists()) {
        chosen->spectra_of_rows = load_row_spectra(prepared, chosen->rows);
        if (!chosen->spectra_of_rows.exists()) {
            if (p.taps_come_later) {
                chosen->by_rows = false;
            } else {
                chosen->spectra = {};
            }
        }
    }
    return chosen;
}

std::vector<std::byte> SegmentRung::tables(Prepared& prepared) const {
    const auto& chosen = prepared.chosen_as<ChosenSegments>();
    if (chosen.only_rows()) {
        std::vector<std::byte> of_rows;
        append_row_tables(of_rows, chosen.rows);
        return of_rows;
    }
    std::vector<std::byte> bytes = make_tables(chosen.plan);
    if (chosen.spectra.exists()) { return bytes; }
    append_spectra(bytes, prepared, chosen.plan);
    if (chosen.by_rows) {
        append_row_tables(bytes, chosen.rows);
        append_row_spectra(bytes, prepared, chosen.rows);
    }
    return bytes;
}

std::int64_t SegmentRung::filled_table_bytes(const Prepared& prepared) const {
    const auto& chosen = prepared.chosen_as<ChosenSegments>();
    if (!chosen.spectra.exists()) { return 0; }
    return all_spectra_bytes(prepared.problem, chosen.plan) + (chosen.by_rows ? all_row_bytes(prepared.problem, chosen.rows) : 0);
}

void SegmentRung::fill_tables(const Prepared& prepared, void* to, cudaStream_t stream) const {
    const auto& chosen = prepared.chosen_as<ChosenSegments>();
    launch_plan_spectra(chosen.spectra, prepared.on_device.taps, to, stream);
    std::vector<std::byte> row_tables;
    if (chosen.by_rows) {
        append_row_tables(row_tables, chosen.rows);
        auto* const rows = static_cast<char*>(to) + all_spectra_bytes(prepared.problem, chosen.plan);
        check(cudaMemcpyAsync(rows, row_tables.data(), row_tables.size(), cudaMemcpyHostToDevice, stream), "copying tables");
        launch_plan_spectra(chosen.spectra_of_rows, prepared.on_device.taps, rows + row_tables.size(), stream);
    }
    check(cudaStreamSynchronize(stream), "making spectra");
}

void SegmentRung::launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                         cudaStream_t stream) const {
    const auto& chosen = prepared.chosen_as<ChosenSegments>();
    if (chosen.by_rows && takes_job(chosen.rows, job)) {
        const std::int64_t before = chosen.only_rows() ? 0 : table_bytes(prepared.problem, chosen.plan);
        const OnDevice of_rows{on_device.taps, static_cast<const char*>(on_device.tables) + before};
        return launch_rows(prepared, chosen.rows, job, of_rows, workspace, stream);
    }
    if (chosen.only_rows()) { throw CudaError(cuda_abi::Code::unsupported, "overlap_save: rows whose place a plan must know"); }
    Launch launch;
    launch.rows = job.batch;
    launch.count = job.count;
    if (chosen.takes_segments) { launch.taken = workspace; }
    launch_segments(prepared, chosen.plan, job, on_device, launch, stream);
}

std::int64_t SegmentRung::made_table_bytes(const Prepared& prepared) const {
    const auto& chosen = prepared.chosen_as<ChosenSegments>();
    return chosen.only_rows() ? all_row_bytes(prepared.problem, chosen.rows) : table_bytes(prepared.problem, chosen.plan);
}

double SegmentRung::making_seconds(const Problem& p, const cuda_abi::Device& device) const {
    if (p.filters == 1) { return 0; }
    const int warps = best_warps(p, device);
    const bool by_rows = takes_rows(p, warps, device);
    const bool long_rows = by_rows && warps == kLongRowWarps && !takes_halves(p, warps, device);
    const std::int64_t points = by_rows ? row_points(warps) : std::int64_t{kPoints} * warps;
    return ordering_seconds(p, device) + spectra_seconds(p, points, p.filters, long_rows, device);
}

void SegmentRung::launch_tables(const Prepared& prepared, void* tables, void* taps, const GivenFilters& given,
                                cudaStream_t stream) const {
    const auto& chosen = prepared.chosen_as<ChosenSegments>();
    if (chosen.spectrum.kernel != nullptr && given.dtype == prepared.problem.taps_dtype) {
        return launch_spectrum(chosen.spectrum, prepared.on_device.tables, tables, taps, given, stream);
    }
    const bool rows = chosen.only_rows();
    launch_later_spectra(prepared, chosen.order, rows ? chosen.spectra_of_rows : chosen.spectra,
                         rows ? row_table_bytes(chosen.rows) : spectrum_shape(chosen.plan).ready_bytes, tables, taps, given,
                         stream);
}

}  // namespace tapline::cuda::overlap_save
