// Rung 61: pairs of real rows as complex ones, for large segments.
#include "cuda/check.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/rung_inside.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {
namespace {

constexpr int kRows = 2 * overlap_save::kRowsTogether;

bool is_even(std::int64_t x) { return x % 2 == 0; }

// As core::with_pairs() of two rows.
Problem pairs_of(const Problem& p) {
    Problem pairs = p;
    pairs.dtype = pairs.output_dtype = pairs.sum_dtype = kComplex64;
    pairs.constant = {p.constant.real(), p.constant.real()};
    pairs.x.in_stride /= 2;
    pairs.x.out_stride /= 2;
    pairs.batch.length /= 2;
    return pairs;
}

Job pairs_of(const Job& job) {
    if (job.in_batch != 1 || job.out_batch != 1 || !is_even(job.in_stride) || !is_even(job.out_stride) || !is_even(job.batch)) {
        refuse_launch();
    }
    Job pairs = job;
    pairs.in_stride /= 2;
    pairs.out_stride /= 2;
    pairs.batch_first /= 2;
    pairs.batch /= 2;
    return pairs;
}

RungInside prepare_large(const Problem& problem, const void* taps, const cuda_abi::Device& device) {
    std::int32_t number = 0;
    while (ladder()[static_cast<std::size_t>(number)] != &overlap_save_large()) { ++number; }
    const cuda_abi::HostTaps given{taps, nullptr, nullptr};
    const cuda_abi::Policy policy;
    cuda_abi::Status status;
    RungInside inside(prepare(number, device.index, &problem, &given, &policy, &status));
    if (inside == nullptr) { throw CudaError(status.code, status.message); }
    return inside;
}

class OverlapSavePairs final : public Rung, public TakesTapsOnDevice {
public:
    static constexpr Head kHead{"61", "overlap_save_pairs", "", R"(
Idea: two rows of real samples side by side in memory are one of complex samples, and four of these fill a sector of memory: the
large segments of all four come and go together, each in its own part of the ring
Changed: rows across memory need no passes that turn them round
Requires: f32, rows side by side, eight or a multiple of it, one filter of 4,097 to 131,072 taps; whole signals; workspace
Limited by: the L2 cache, through which every point passes four times
)"};

    OverlapSavePairs() : Rung(kHead, {.source = "src/cuda/families/overlap_save/large/overlap_save_pairs.cpp", .is_local = 0}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.dtype != kF32 || p.output_dtype != kF32 || p.taps_dtype != kF32) { return "takes f32 with f32 taps"; }
        if (p.filters != 1) { return "takes one filter for all rows"; }
        if (p.bias != 0 || p.has_clamp) { return "an epilogue adds to each of two rows, or clamps them"; }
        if (Refusal few = overlap_save::too_few_taps(p.x.k); !few.empty()) { return few; }
        if (p.x.k > std::int64_t{1} << (overlap_save::kLeastLargeBits - 1)) { return "more taps than half a segment has samples"; }
        if (p.batch.length % kRows != 0 || p.batch.in_stride != 1 || p.batch.out_stride != 1 || !is_even(p.x.in_stride) ||
            !is_even(p.x.out_stride)) {
            return "rows do not lie side by side in eights";
        }
        return overlap_save_large().supports(pairs_of(p), device);
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return overlap_save_large().estimate_seconds(pairs_of(p), device);
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return by_inside(*prepared.chosen_as<ChosenPairs>().inner);
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenPairs>();
        chosen->inner = prepare_large(pairs_of(prepared.problem), prepared.given.taps, prepared.device);
        return chosen;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        return prepared.chosen_as<ChosenPairs>().inner->workspace_bytes;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice&, void* workspace, cudaStream_t stream) const override {
        const RungInside& inner = prepared.chosen_as<ChosenPairs>().inner;
        inner->rung->launch(*inner, pairs_of(job), inner->on_device, workspace, stream);
    }

    // What is made of taps that come later is made in the workspace of the rung inside.
    [[nodiscard]] std::int64_t made_table_bytes(const Prepared&) const override { return 0; }
    [[nodiscard]] double making_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return dynamic_cast<const TakesTapsOnDevice&>(overlap_save_large()).making_seconds(pairs_of(p), device);
    }
    void load_tables(const Prepared&) const override {}  // the rung inside has
    void launch_with_taps(const Prepared& prepared, const Job& job, void* workspace, const MadeTables& made,
                          cudaStream_t stream) const override {
        const RungInside& inner = prepared.chosen_as<ChosenPairs>().inner;
        const auto& maker = dynamic_cast<const TakesTapsOnDevice&>(*inner->rung);
        maker.launch_with_taps(*inner, pairs_of(job), workspace, made_inside(inner, made.given, workspace), stream);
    }

private:
    struct ChosenPairs final : Chosen {
        RungInside inner;
    };
};

}  // namespace

const Rung& overlap_save_pairs() { return core::only<OverlapSavePairs>(); }

}  // namespace tapline::cuda
