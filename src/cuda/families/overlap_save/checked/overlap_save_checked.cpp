// The rung of strict accuracy by transforms: segments in double whose every output is checked.
#include "cuda/families/overlap_save/checked/overlap_save_checked.hpp"

#include <cstring>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/taken.hpp"
#include "cuda/families/overlap_save/checked/overlap_save_repair.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

// Groups of outputs of a launch at most, and so what their list takes of the workspace: 8 MiB.
constexpr std::int64_t kMostGroups = 1 << 21;
// Their spectra are made on the host.
constexpr std::int64_t kMostFilters = 64;
// Blocks of the direct sums on a multiprocessor.
constexpr unsigned kRepairBlocks = 8;

Kernel checked_kernel_of(const Problem& p, int warps, bool /*plain*/, Spectrum spectrum) {
    return p.dtype == kF32         ? pick_checked_kernel<WideFloat>(warps, spectrum)
           : p.dtype == kComplex64 ? pick_checked_kernel<WideComplex>(warps, spectrum)
                                   : Kernel{};
}

// The same with samples side by side.
Problem side_by_side(Problem p) {
    p.x.in_stride = 1;
    return p;
}

// What takes longer where they are not: sectors come with few samples of a row in each.
double seconds_apart(const Problem& p, const cuda_abi::Device& device) {
    const int bytes = stored_bytes(p.dtype);
    return static_cast<double>(p.x.n * p.batch.length) * (bytes_touched(p.x.in_stride, bytes) - bytes) /
           device.copy_bytes_per_second;
}

std::int64_t groups_of(std::int64_t outputs) { return divide_up(outputs, kGroup); }

class OverlapSaveChecked final : public Rung {
public:
    static constexpr Head kHead{"43", "overlap_save_checked", "", R"(
Idea: segments as in rung 27, of f32 but in double: what their samples and the filter say of the error tells of nearly every
output that it keeps strict accuracy's own bound. The few others are listed, and a second kernel sums them directly
Changed: an output's error no longer depends on how loud its neighbours are
Requires: f32 or complex64, outputs side by side, fewer taps than a segment has samples (2,048 to 16,384), up to 64 filters
Limited by: arithmetic in double and shared memory; direct sums where quiet passages lie beside loud ones
)"};

    OverlapSaveChecked() : Rung(kHead, {.source = "src/cuda/families/overlap_save/overlap_save_checked.cuh", .takes_pieces = 1}) {}
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        const bool f32 = p.dtype == kF32 && p.taps_dtype == kF32;
        const bool complex64 = p.dtype == kComplex64 && (p.taps_dtype == kF32 || p.taps_dtype == kComplex64);
        if (p.is_exact() || !(f32 || complex64)) { return "samples and taps that are not of f32 or complex64"; }
        if (p.x.out_stride != 1 || p.output_dtype != p.dtype || p.has_outer()) {
            return "outputs that do not lie side by side, or of another type";
        }
        if (p.x.in_stride != 1 && p.accuracy != Accuracy::strict) { return "samples that do not lie side by side, but strictly"; }
        if (p.taps_come_later) { return "taps that come later"; }
        if (p.filters > kMostFilters || (p.filters > 1 && p.filters != p.batch.length)) {
            return "more than " + std::to_string(kMostFilters) + " filters, or filters in turn";
        }
        if (best_warps(checked_kernel_of, kCheckedWarpCounts, p, device) == 0) {
            return std::to_string(p.x.k) + " taps: more than a segment in a multiprocessor's shared memory has room for";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const int warps = best_warps(checked_kernel_of, kCheckedWarpCounts, p, device);
        return estimate(checked_kernel_of, side_by_side(p), cut_of(p, warps, p.x.k), device) + seconds_apart(p, device);
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        return policies_of(checked_kernel_of, kCheckedWarpCounts, p, device);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const SegmentPlan& plan = prepared.chosen_as<ChosenChecked>().plan;
        return describe_cut(plan.cut, plan.slow) + ", every output checked";
    }
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override {
        return prepared.chosen_as<ChosenChecked>().plan.cut.outputs;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        const std::int64_t groups = std::min(groups_of(p.x.outputs), kMostGroups) * p.batch.length;
        return kTakenBytes + std::min(groups, kMostGroups) * static_cast<std::int64_t>(sizeof(unsigned));
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenChecked>();
        const Problem& p = prepared.problem;
        chosen->plan = load_segments(checked_kernel_of, prepared, cut_of_plan(checked_kernel_of, kCheckedWarpCounts, prepared));
        chosen->repair = repair_kernel_of(p.dtype, p.taps_dtype);
        load_kernel(chosen->repair.kernel, static_cast<std::size_t>(chosen->repair.shared_bytes), prepared.device);
        return chosen;
    }
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override {
        const SegmentPlan& plan = prepared.chosen_as<ChosenChecked>().plan;
        const Problem& p = prepared.problem;
        std::vector<std::byte> bytes = make_tables(plan);
        append_spectra(bytes, prepared, plan);
        for (std::int64_t f = 0; f < p.filters; ++f) {
            const FilterBound bound =
                bound_of(prepared.host_taps.data() + f * prepared.taps_pitch_bytes, p.x.k, p.taps_dtype, plan.cut.warps);
            bytes.resize(bytes.size() + sizeof bound);
            std::memcpy(bytes.data() + bytes.size() - sizeof bound, &bound, sizeof bound);
        }
        return bytes;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenChecked>();
        const Problem& p = prepared.problem;
        const std::int64_t room = (workspace_bytes(prepared) - kTakenBytes) / static_cast<std::int64_t>(sizeof(unsigned));
        const std::int64_t segment = chosen.plan.cut.outputs;
        const std::int64_t outputs = groups_of(job.count) <= room ? job.count : room * kGroup / segment * segment;
        const std::int64_t rows = std::clamp<std::int64_t>(room / groups_of(outputs), 1, job.batch);
        Launch launch;
        launch.checks.bounds =
            reinterpret_cast<const FilterBound*>(static_cast<const char*>(on_device.tables) + table_bytes(p, chosen.plan));
        launch.checks.failed = reinterpret_cast<unsigned*>(static_cast<char*>(workspace) + kTakenBytes);
        for (launch.first_output = 0; launch.first_output < job.count; launch.first_output += outputs) {
            launch.count = std::min(outputs, job.count - launch.first_output);
            launch.checks.groups = groups_of(launch.count);
            for (std::int64_t row = 0; row < job.batch; row += rows) {
                launch.row = row;
                launch.rows = std::min(rows, job.batch - row);
                launch.checks.failed_groups = start_taking(workspace, stream);
                launch_segments(prepared, chosen.plan, job, on_device, launch, stream);
                launch_repair(prepared, chosen, job, on_device, launch, stream);
            }
        }
    }

private:
    struct ChosenChecked : Chosen {
        SegmentPlan plan;
        LoadedRepair repair;
    };

    static void launch_repair(const Prepared& prepared, const ChosenChecked& chosen, const Job& job, const OnDevice& on_device,
                              const Launch& launch, cudaStream_t stream) {
        const Problem& p = prepared.problem;
        // Groups are numbered from the job's first row on.
        Launch all_rows = launch;
        all_rows.row = 0;
        Arguments a = arguments_of(prepared, job_of_launch(p, job, all_rows), on_device);
        a.taps = on_device.taps;
        Repair repair{};
        repair.checks = launch.checks;
        repair.checks.filters = p.filters;
        repair.checks.first_filter = job.batch_first % p.filters;
        repair.filter_bytes = prepared.taps_pitch_bytes;
        repair.finite_taps = p.taps_finite ? 1 : 0;
        const std::int64_t warps = launch.rows * launch.checks.groups;
        const std::int64_t blocks = std::min<std::int64_t>(divide_up(warps, kRepairThreads / 32),
                                                           std::int64_t{kRepairBlocks} * prepared.device.multiprocessors);
        launch_kernel(chosen.repair.kernel, static_cast<unsigned>(blocks), kRepairThreads,
                      static_cast<std::size_t>(chosen.repair.shared_bytes), stream, a, repair);
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_checked() { return core::only<overlap_save::OverlapSaveChecked>(); }

}  // namespace tapline::cuda
