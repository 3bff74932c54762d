#include "cuda/families/overlap_save/segment/overlap_save_rung.hpp"

#include <cstdlib>

#include "core/problem/arrange.hpp"
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

Refusal SegmentRung::supports(const Problem& p, const cuda_abi::Device& device) const {
    if (p.is_exact() || slow_kernel(kernel_of_, p, warp_counts_.front()).function == nullptr) {
        return "integers are exact on the CPU only";
    }
    if (p.accuracy == Accuracy::strict) { return "strict accuracy needs direct summation"; }
    if (core::filter_sets(p) != 1) {
        if (p.taps_come_later || p.filters != core::filter_sets(p) * (p.batch.taps_stride == 0 ? 1 : p.batch.length)) {
            return "filters along several axes: takes as many as there are rows of these, when the plan is made";
        }
        const Rows rows = rows_of(p);
        const bool across = rows.near.length > 1 && std::abs(rows.near.in) < std::abs(p.x.in_stride);
        if (!across) { return "filters along several axes: takes those of rows that lie closer than samples"; }
    }
    if (best_warps(kernel_of_, warp_counts_, p, device) == 0) {
        return std::to_string(p.x.k) + " taps: more than a segment in " + where_ + "'s shared memory has room for";
    }
    return {};
}

double SegmentRung::estimate_seconds(const Problem& p, const cuda_abi::Device& device) const {
    return estimate(kernel_of_, p, cut_of(p, best_warps(kernel_of_, warp_counts_, p, device), p.x.k), device);
}

std::vector<Policy> SegmentRung::policies(const Problem& p, const cuda_abi::Device& device) const {
    return policies_of(kernel_of_, warp_counts_, p, device);
}

std::string SegmentRung::describe(const Prepared& prepared) const {
    const auto& chosen = prepared.chosen_as<ChosenSegments>();
    if (chosen.by_rows) { return describe_rows(chosen.rows); }
    return describe_cut(chosen.plan.cut, chosen.plan.slow);
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
    const Cut cut = cut_of_plan(kernel_of_, warp_counts_, prepared);
    auto chosen = std::make_unique<ChosenSegments>();
    chosen->plan = load_segments(kernel_of_, prepared, cut);
    chosen->by_rows = !p.has_outer() && takes_rows(p, cut.warps, prepared.device);
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
    const int warps = best_warps(kernel_of_, warp_counts_, p, device);
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
