// Rung 52: the rows' problem, launches.
#include "cuda/families/transposed/widened_rows.hpp"

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/families/common/workspace.hpp"
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
constexpr double kShareMoved = 0.9;         // of the copy's speed, by the pass
constexpr double kPassSeconds = 8e-6;       // of a short one

std::int64_t row_of(const Problem& p) { return divide_up(p.x.n, std::int64_t{32}) * 32; }
std::int64_t bytes_of_rows(const Problem& p, std::int64_t rows) { return rows * row_of(p) * stored_bytes(p.taps_dtype); }

Problem widened(const Problem& p) {
    Problem inner = p;
    inner.dtype = inner.sum_dtype = p.taps_dtype;
    inner.batch.in_stride = row_of(p);
    inner.narrow_taps = false;
    inner.trivial_epilogue = !p.changes_sums() && p.output_dtype == inner.dtype;
    return inner;
}

class WidenedRows final : public Rung, public TakesTapsOnDevice {
public:
    static constexpr Head kHead{"52", "widened_rows", "", R"(
Idea: a pass makes floating-point numbers of integers of 8 and 16 bits, and the rung that is the fastest for those convolves them
Changed: the longest filters, whose rungs read floating-point numbers, cost a pass more on integers
Requires: integers of 8 or 16 bits side by side, real taps, 16,385 of them or more; whole signals; workspace
Limited by: what limits the rung inside, and the pass
)"};

    WidenedRows() : Rung(kHead, {.source = "src/cuda/families/transposed/widened_rows.cu", .is_local = 0}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.is_exact() || !is_integer(p.dtype) || p.dtype == kBoolean ||
            kernel_of(stored_bytes(p.dtype), p.taps_dtype) == nullptr) {
            return "takes integers of 8 and 16 bits with real taps only";
        }
        if (p.x.k < kLeastTaps) {
            return "fewer than " + std::to_string(kLeastTaps) + " taps: samples are widened as they are read";
        }
        if (p.x.in_stride != 1) { return "samples do not lie side by side"; }
        if (device.memory_bytes > 0 && bytes_of_rows(p, p.batch.length) > device.memory_bytes / 8) {
            return "the widened rows need more than an eighth of the device's memory";
        }
        return best_rung(widened(p), device).rung < 0 ? "no rung takes the rows" : "";
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const double samples = static_cast<double>(p.x.n) * static_cast<double>(p.batch.length);
        const double bytes = samples * (stored_bytes(p.dtype) + stored_bytes(p.taps_dtype));
        return kPassSeconds + bytes / (kShareMoved * device.copy_bytes_per_second) + best_rung(widened(p), device).seconds;
    }
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return by_inside(*prepared.chosen_as<ChosenWidened>().inner);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenWidened>();
        chosen->kernel = kernel_of(stored_bytes(p.dtype), p.taps_dtype);
        load_kernel(chosen->kernel);
        chosen->inner = prepare_inside(widened(p), prepared.given.taps, prepared.device);
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
        return making_seconds_inside(widened(p), device);
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
        Passage pass{job.in, memory, job.in_last - job.in_first, job.in_batch, row, 0, p.dtype};
        pass.tiles = divide_up(pass.samples, std::int64_t{kThreads} * kEach);
        if (pass.tiles > kMostBlocks / job.batch) { refuse_launch(); }
        launch_kernel(chosen.kernel, static_cast<unsigned>(pass.tiles * job.batch), kThreads, 0, stream, pass);
        Job rows = job;
        rows.in = memory;
        rows.in_batch = row;
        return {rows, memory + bytes_of_rows(p, job.batch)};
    }
};

}  // namespace

const Rung& widened_rows() { return core::only<WidenedRows>(); }

}  // namespace tapline::cuda
