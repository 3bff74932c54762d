// Rung 20: what it supports, how it is launched.
#include "cuda/families/direct/direct_staged.hpp"

#include <algorithm>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/direct_policies.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using staged::kTapChunk;

class SplitTaps final : public Rung {
public:
    static constexpr Head kHead{"20", "split_taps", "", R"(
Idea: a filter of very many taps is divided among blocks, whose sums a second kernel adds up in a fixed order
Changed: one block went through all taps of its outputs; with few outputs the rest of the device stood still
Requires: workspace for a sum an output and segment; worth it for few outputs and many taps
Limited by: memory where there is one output, multiply-adds where there are many
)"};

    SplitTaps() : Rung(kHead, {.source = "src/cuda/families/direct/split_taps.cuh", .takes_pieces = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.x.k < 2 * kTapChunk) { return "fewer than " + std::to_string(2 * kTapChunk) + " taps: nothing to divide"; }
        if (segments_of(p, device) < 2) { return "the outputs alone fill the device"; }
        return refuse_types(p);
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        // Windows that leave the signal are summed by threads that have all taps (H200: 3 x 2,663 complex64, 1,220 taps, mirrored,
        // 39 us; 28,536 f16, 4,743 taps 44).
        constexpr double kEdgesSeconds = 20e-6;
        const bool repeats = p.x.boundary != kZero && p.x.boundary != kConstant;
        return (repeats ? kEdgesSeconds : 0) +
               std::max(estimate(p, device, staged::kStagedCost, 0),
                        staged::serial_seconds(static_cast<double>(p.x.k) / static_cast<double>(segments_of(p, device)), device)) +
               2 * kLaunchSeconds;
    }
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        const int sum_bytes = std::max(4, type_of(p, prepared.device).bytes);
        return segments_of(p, prepared.device) * p.batch.length * p.x.outputs * sum_bytes;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return std::to_string(segments_of(prepared.problem, prepared.device)) + " segments of the taps";
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        auto chosen = std::make_unique<ChosenSplit>();
        chosen->staged = staged::load(prepared, 1, segment_taps(prepared));
        chosen->sum_kernel = staged::sum_kernel_of(prepared.problem.dtype);
        load_kernel(chosen->sum_kernel);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenSplit>();
        const staged::Staged& staged = chosen.staged;
        Arguments a = arguments_of(prepared, job, on_device);
        set_tiles(a, staged.tile, staged.per_vector);
        launch_kernel(staged.kernel, grid_of_rows(divide_up(a.tiles, staged::kThreads / 32) * staged.segments, a.rows),
                      staged::kThreads, staged.shared_bytes, stream, a, staged.chunk, staged.segments, staged.segment_taps,
                      workspace);
        launch_edges(staged.edges, a, workspace, stream);
        constexpr int kThreads = 128;
        launch_kernel(chosen.sum_kernel, grid_of_rows(divide_up(a.rows * a.count, kThreads), 1), kThreads, 0, stream, a, workspace,
                      staged.segments);
    }

private:
    struct ChosenSplit : Chosen {
        staged::Staged staged{};
        staged::SumKernel sum_kernel = nullptr;
    };

    // As many as fill the device, each of whole chunks.
    static std::int64_t segments_of(const Problem& p, const cuda_abi::Device& device) {
        const std::int64_t tile = std::int64_t{staged::kThreads} * type_of(p, device).per_vector();
        const std::int64_t tiles = divide_up(p.x.outputs, tile) * p.batch.length;
        const std::int64_t wanted = divide_up(static_cast<std::int64_t>(device.multiprocessors) * 8, tiles);
        return std::clamp<std::int64_t>(std::min(wanted, p.x.k / kTapChunk), 1, 65535);
    }
    static std::int64_t segment_taps(const Prepared& prepared) {
        const std::int64_t segments = segments_of(prepared.problem, prepared.device);
        return divide_up(divide_up(prepared.problem.x.k, segments), kTapChunk) * kTapChunk;
    }
};

}  // namespace

const Rung& split_taps() { return core::only<SplitTaps>(); }

}  // namespace tapline::cuda
