// Rung 52: the rows' problem, launches.
#include <algorithm>

#include "cuda/families/transposed/widened_rows.hpp"

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/families/common/types.hpp"
#include "cuda/families/common/workspace.hpp"
#include "cuda/families/overlap_save/checked/overlap_save_checked.hpp"
#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {
namespace {

using widened_rows_pass::kEach;
using widened_rows_pass::Kernel;
using widened_rows_pass::kernel_of;
using widened_rows_pass::kThreads;
using widened_rows_pass::Passage;

constexpr std::int64_t kLeastTaps = 16385;  // fewer are convolved as samples are read: 10,723 taps, 2.5 million i16, 25 us, so 39
constexpr std::int64_t kLeastChecked = 64;  // under strict accuracy, for checked segments
constexpr double kShareMoved = 0.9;         // of the copy's speed, by the pass
constexpr double kPassSeconds = 8e-6;       // of a short one

std::int64_t row_of(const Problem& p) { return divide_up(p.x.n, std::int64_t{32}) * 32; }
std::int64_t bytes_of_rows(const Problem& p, std::int64_t rows) { return rows * row_of(p) * stored_bytes(sums_of(p)); }

Problem widened(const Problem& p) {
    Problem inner = p;
    inner.dtype = inner.sum_dtype = sums_of(p);
    // Where it stands for samples it is one of theirs.
    if (p.dtype == kF16) { inner.constant = __half2float(__half(p.constant.real())); }
    if (p.dtype == kBf16) { inner.constant = __bfloat162float(__nv_bfloat16(p.constant.real())); }
    inner.x.in_stride = 1;
    inner.batch.in_stride = row_of(p);
    inner.narrow_taps = false;
    inner.trivial_epilogue = !p.changes_sums() && p.output_dtype == inner.dtype;
    return inner;
}

// What convolves the rows: of filters that otherwise would be convolved as samples are read, checked segments.
BestRung inside_of(const Problem& p, const cuda_abi::Device& device) {
    const Problem rows = widened(p);
    if (p.x.k >= kLeastTaps) { return best_rung(rows, device); }
    const Rung& checked = overlap_save_checked();
    if (!refusal(checked, rows, device).empty()) { return {}; }
    const auto at = std::find(ladder().begin(), ladder().end(), &checked);
    return {static_cast<std::int32_t>(at - ladder().begin()), checked.estimate_seconds(rows, device)};
}

class WidenedRows final : public Rung, public TakesTapsOnDevice {
public:
    static constexpr Head kHead{"52", "widened_rows", "", R"(
Idea: a pass puts samples side by side as numbers of the type of sums, and the rung that is the fastest for those convolves them
Changed: the longest filters, whose rungs read floating-point numbers side by side, cost a pass more on integers and on samples
that lie apart or backwards, and so do checked segments
Requires: integers of 8 or 16 bits, or samples apart; floating-point taps, 16,385 of them or more, 64 where checked segments take
the rows; whole signals; workspace
Limited by: what limits the rung inside, and the pass
)"};

    WidenedRows() : Rung(kHead, {.source = "src/cuda/families/transposed/widened_rows.cu", .is_local = 0}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        const bool strict = p.accuracy == Accuracy::strict;
        if (p.is_exact() || p.dtype == kBoolean || kernel_of(p.dtype, sums_of(p)) == nullptr) {
            return "takes samples of 8 and 16 bits and those of the type of sums only";
        }
        if (p.x.k < (strict ? kLeastChecked : kLeastTaps)) {
            return "fewer than " + std::to_string(strict ? kLeastChecked : kLeastTaps) +
                   " taps: samples are widened as they are read";
        }
        const bool apart = p.x.in_stride != 1;
        if (!apart && (p.dtype == sums_of(p) || (!strict && !is_integer(p.dtype)))) { return "samples are read as they lie"; }
        if (device.memory_bytes > 0 && bytes_of_rows(p, p.batch.length) > device.memory_bytes / 8) {
            return "the widened rows need more than an eighth of the device's memory";
        }
        return inside_of(p, device).rung < 0 ? "no rung takes the rows" : "";
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const double samples = static_cast<double>(p.x.n) * static_cast<double>(p.batch.length);
        const double bytes = samples * (bytes_touched(p.x.in_stride, stored_bytes(p.dtype)) + stored_bytes(sums_of(p)));
        const double pass = kPassSeconds + bytes / (kShareMoved * device.copy_bytes_per_second);
        const BestRung best = inside_of(p, device);
        // Parts of a filter are as fast on samples apart.
        const bool as_they_lie = p.x.in_stride != 1 && &rung_of(best.rung) == &overlap_save_parts();
        return pass + (as_they_lie ? overlap_save_parts().estimate_seconds(p, device) : best.seconds);
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return by_inside(*prepared.chosen_as<ChosenWidened>().inner);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenWidened>();
        chosen->kernel = kernel_of(p.dtype, sums_of(p));
        load_kernel(chosen->kernel);
        chosen->inner = prepare_rung_inside(inside_of(p, prepared.device).rung, widened(p), prepared.given.taps, prepared.device);
        return chosen;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        return kWorkspaceAlignment + bytes_of_rows(p, p.batch.length) + prepared.chosen_as<ChosenWidened>().inner->workspace_bytes;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice&, void* workspace, cudaStream_t stream) const override {
        const RungInside& inner = prepared.chosen_as<ChosenWidened>().inner;
        const auto [rows, own] = widen(prepared, job, workspace, stream);
        inner->rung->launch(*inner, rows, inner->on_device, own, stream);
    }

    // What is made of taps that come later is made in the workspace of the rung inside.
    [[nodiscard]] std::int64_t made_table_bytes(const Prepared&) const override { return 0; }
    [[nodiscard]] double making_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return making_seconds_of(inside_of(p, device).rung, widened(p), device);
    }
    void load_tables(const Prepared&) const override {}  // the rung inside has
    void launch_with_taps(const Prepared& prepared, const Job& job, void* workspace, const MadeTables& made,
                          cudaStream_t stream) const override {
        const RungInside& inner = prepared.chosen_as<ChosenWidened>().inner;
        const auto [rows, own] = widen(prepared, job, workspace, stream);
        const auto& maker = dynamic_cast<const TakesTapsOnDevice&>(*inner->rung);
        maker.launch_with_taps(*inner, rows, own, made_inside(inner, made.given, own), stream);
    }

private:
    struct ChosenWidened final : Chosen {
        Kernel kernel = nullptr;
        RungInside inner;
    };
    struct Widened {
        Job rows;
        char* own;  // workspace of the rung inside
    };

    static Widened widen(const Prepared& prepared, const Job& job, void* workspace, cudaStream_t stream) {
        const Problem& p = prepared.problem;
        const auto& chosen = prepared.chosen_as<ChosenWidened>();
        char* const memory = aligned(workspace);
        const std::int64_t row = row_of(p);
        Passage pass{job.in, memory, job.in_last - job.in_first, job.in_stride, job.in_batch, row, 0, p.dtype};
        pass.tiles = divide_up(pass.samples, std::int64_t{kThreads} * kEach);
        if (pass.tiles > kMostBlocks / job.batch) { refuse_launch(); }
        launch_kernel(chosen.kernel, static_cast<unsigned>(pass.tiles * job.batch), kThreads, 0, stream, pass);
        Job rows = job;
        rows.in = memory;
        rows.in_stride = 1;
        rows.in_batch = row;
        return {rows, memory + bytes_of_rows(p, job.batch)};
    }
};

}  // namespace

const Rung& widened_rows() { return core::only<WidenedRows>(); }

}  // namespace tapline::cuda
