// Rung 19: what it supports, how it is launched, which sizes are worth measuring.
#include "cuda/families/direct/direct_staged.hpp"

#include <algorithm>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/direct_policies.hpp"

namespace tapline::cuda {
namespace {

class Direct final : public DirectRung {
public:
    static constexpr Head kHead{"19", "direct", "", R"(
Idea: a filter of any length passes in chunks of taps, each with its part of the window; the sums stay in registers
Changed: taps no longer come by value: chunks of them are copied beside the window. One tile a window
Requires: nothing: any number of taps, type, boundary, batch, stride and alignment
Limited by: multiply-adds, one vector from shared memory feeds 48 or 80 of them; with rows' own taps the register banks
)"};

    Direct() : DirectRung(kHead, {.source = "src/cuda/families/direct/direct.cuh", .takes_pieces = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device&) const override { return refuse_types(p); }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        Problem known = p;  // one filter's taps come from memory always
        known.taps_come_later = false;
        return std::max(estimate(known, device, staged::kStagedCost, static_cast<double>(known.x.k)),
                        staged::kStagedCost.start + staged::serial_seconds(static_cast<double>(p.x.k), device));
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all{default_policy(p, device)};
        for (const int vectors : {1, 3}) {
            for (const int tiles : {-1, 1, 2, 4, 8}) { all.push_back({vectors, staged::kThreads, tiles, 0}); }
        }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Policy policy = policy_of(prepared);
        return sizes(policy, policy.tiles_per_block < 0 ? "blocks as many as the device holds"
                                                        : std::to_string(policy.tiles_per_block) + " tiles a warp");
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Policy policy = policy_of(prepared);
        auto chosen = std::make_unique<ChosenDirect>(prepared);
        chosen->staged = staged::load(prepared, policy.vectors_per_thread, prepared.problem.x.k);
        chosen->tiles_per_block = policy.tiles_per_block;
        chosen->blocks_held = std::int64_t{prepared.device.multiprocessors} *
                              blocks_held(chosen->staged.kernel, staged::kThreads, chosen->staged.shared_bytes);
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenDirect>();
        const staged::Staged& staged = chosen.staged;
        Arguments a = arguments_of(prepared, job, on_device);
        set_tiles(a, staged.tile, staged.per_vector);
        constexpr int kWarps = staged::kThreads / 32;
        const std::int64_t blocks = chosen.tiles_per_block < 0
                                        ? std::min(divide_up(a.tiles, kWarps), divide_up(chosen.blocks_held, a.rows))
                                        : divide_up(a.tiles, std::int64_t{chosen.tiles_per_block} * kWarps);
        launch_kernel(staged.kernel, grid_of_rows(blocks, a.rows), staged::kThreads, staged.shared_bytes, stream, a, staged.chunk,
                      staged.segments, staged.segment_taps, nullptr);
        launch_edges(staged.edges, a, nullptr, stream);
    }

private:
    struct ChosenDirect : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        staged::Staged staged{};
        int tiles_per_block = 0;
        std::int64_t blocks_held = 0;  // by the device
    };
    static Policy default_policy(const Problem& p, const cuda_abi::Device& device) {
        const int per_vector = type_of(p, device).per_vector();
        const std::int64_t outputs = p.x.outputs * p.batch.length;
        const std::int64_t fills = static_cast<std::int64_t>(device.multiprocessors) * 768 * 3 * per_vector;
        if (outputs < fills) { return {1, staged::kThreads, 1, 0}; }
        return {3, staged::kThreads, -1, 0};
    }
    static Policy policy_of(const Prepared& prepared) {
        return with_defaults(prepared.policy, default_policy(prepared.problem, prepared.device));
    }
};

}  // namespace

const Rung& direct() { return core::only<Direct>(); }

}  // namespace tapline::cuda
