// Rung 17: what it supports, how it is launched, which sizes are worth measuring.
#include "cuda/families/direct/direct_few_rows.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/edges.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/direct_policies.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda {
namespace {

using few::kFewTaps;

// Fitted, as those of rungs 18 and 19, to 70,003 to 25,000,000 samples of all types, one row and 700, with 3 to 1,900 taps, and to
// 2^28 of f32 with 3 to 33, on an H200: within 4%, root of the mean square.
constexpr Cost kFewCost{6.1e-6, {1.5, 0.87, 1.5, 1.5, 1.5}, 1.56, 19.8, 6, 0.11, 1.9e-6, 0.038e-6};

class DirectFew final : public DirectRung {
public:
    static constexpr Head kHead{"17", "direct_few", "", R"(
Idea: outputs are turned in shared memory, a warp at a time, and stored as whole lines that bypass the caches; taps arrive as
kernel parameters and are operands of the products; their number is known when the kernel is compiled
Changed: the strided stores: a lane's own 48 bytes touch a line of their own, 32 lanes' together fill 12
Requires: at most 36 taps; f32, f16 or bf16; any boundary, batch, stride and alignment
Limited by: memory: it runs at the speed of the copy
)"};

    DirectFew() : DirectRung(kHead, {.source = "src/cuda/families/direct/direct_few.cuh", .takes_pieces = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device&) const override {
        if (p.x.k > kFewTaps) { return "more than " + std::to_string(kFewTaps) + " taps"; }
        if (p.dtype != kF32 && p.dtype != kF16 && p.dtype != kBf16) {
            return "its sums would not fit the registers: f32, f16 and bf16 only";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const few::Way way = few::way_of(p);
        return way == few::Way::none ? estimate(p, device, kFewCost, static_cast<double>(p.x.k)) : few::seconds_of(way, p, device);
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all{default_policy(p, device)};
        const auto chunks = static_cast<int>(divide_up(p.x.k, type_of(p, device).per_vector()));
        for (const int vectors : {1, 3, 5}) {
            if (p.dtype == kF32 ? !few::is_built(vectors, chunks, taps_in_memory(p)) : vectors == 5) { continue; }
            for (const int threads : {32, 64, 128}) {
                for (const int tiles : {1, 2, 4, 6}) { all.push_back({vectors, threads, tiles, 0}); }
            }
        }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        switch (way_of(prepared)) {
            case few::Way::rows:
                return "short rows";
            case few::Way::line:
                return "rows one after the other";
            case few::Way::interleaved:
            case few::Way::own_of_two:
            case few::Way::own_of_four:
                return "interleaved rows as one";
            default:
                break;
        }
        const Policy policy = policy_of(prepared);
        return sizes(policy, std::to_string(policy.tiles_per_block) + " tiles a warp");
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        const Policy policy = policy_of(prepared);
        auto chosen = std::make_unique<ChosenFew>(prepared);
        chosen->per_vector = type_of(p, prepared.device).per_vector();
        chosen->tile = 32 * policy.vectors_per_thread * chosen->per_vector;
        chosen->tile_bytes = static_cast<std::size_t>(chosen->tile) * type_of(p, prepared.device).bytes;
        chosen->threads = policy.threads_per_block;
        chosen->tiles_per_block = policy.tiles_per_block;
        const auto chunks = static_cast<int>(divide_up(p.x.k, chosen->per_vector));
        const bool is_float = p.dtype == kF32;
        chosen->kernel = is_float ? few::kernel_f32(policy.vectors_per_thread, chunks, taps_in_memory(p))
                                  : few::kernel_16bit(p.dtype, policy.vectors_per_thread, chunks, taps_in_memory(p));
        if (chosen->kernel == nullptr) { refuse_policy(); }
        load_kernel(chosen->kernel);
        // One vector a thread, one tile a warp: the sizes for signals that do not fill the device.
        if (policy.vectors_per_thread == 1 && policy.tiles_per_block == 1 && !taps_in_memory(p)) {
            chosen->short_kernel = is_float ? few::short_kernel_f32(chunks) : few::short_kernel_16bit(p.dtype, chunks);
            load_kernel(chosen->short_kernel);
        }
        chosen->way = way_of(prepared);
        if (chosen->way != few::Way::none) {
            chosen->rows_kernel = few::kernel_of(chosen->way, p);
            std::visit([](auto kernel) { load_kernel(kernel); }, chosen->rows_kernel);
            chosen->has_own = chosen->way == few::Way::own_of_two || chosen->way == few::Way::own_of_four;
            if (chosen->has_own) { chosen->own = few::own_taps(static_cast<const float*>(prepared.given.taps), p.filters, p.x.k); }
        }
        chosen->edges = load_edges(prepared, {chosen->tile, chosen->tile + std::int64_t{chunks} * chosen->per_vector});
        return chosen;
    }

    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        const auto& chosen = prepared.chosen_as<ChosenFew>();
        Arguments a = arguments_of(prepared, job, on_device);
        // Kernels that read the taps in memory do not read these; host_taps is never shorter than them.
        const auto& taps = *reinterpret_cast<const few::TapsByValue<float>*>(prepared.host_taps.data());
        const void* const of_rows = chosen.has_own ? static_cast<const void*>(&chosen.own) : &taps;
        if (chosen.way != few::Way::none && few::launch(chosen.way, chosen.rows_kernel, a, of_rows, stream)) { return; }
        if (chosen.short_kernel != nullptr && launch_short(chosen, a, taps, stream)) { return; }
        set_tiles(a, chosen.tile, chosen.per_vector);
        const int warps = static_cast<int>(std::min<std::int64_t>(chosen.threads / 32, a.tiles));
        launch_kernel(chosen.kernel, grid_of_rows(divide_up(a.tiles, std::int64_t{chosen.tiles_per_block} * warps), a.rows),
                      static_cast<unsigned>(32 * warps), static_cast<std::size_t>(warps) * chosen.tile_bytes, stream, a, taps,
                      chosen.tiles_per_block);
        launch_edges(chosen.edges, a, nullptr, stream);
    }

private:
    struct ChosenFew : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        few::FewKernel kernel = nullptr;
        few::ShortKernel short_kernel = nullptr;  // where the sizes are its
        few::Way way = few::Way::none;
        few::AnyRowsKernel rows_kernel;  // of that way
        bool has_own = false;
        few::TapsByValue<float4> own{};  // then
        int per_vector = 0, tile = 0, threads = 0, tiles_per_block = 0;
        std::size_t tile_bytes = 0;
        Edges edges;
    };

    static bool launch_short(const ChosenFew& chosen, const Arguments& a, const few::TapsByValue<float>& taps,
                             cudaStream_t stream) {
        constexpr std::int64_t kMost = std::int64_t{1} << 30;
        const std::int64_t offset = a.first - a.origin - a.in_first;
        const std::int64_t length = a.in_last - a.in_first;
        if (a.zero_vectors == 0 || a.plain_layout == 0 || a.plain_store == 0 || a.count > kMost || length > kMost ||
            std::abs(offset) > kMost || a.rows > kMostRowsAlongY) {
            return false;
        }
        const few::ShortRows rows{a.out,
                                  a.in,
                                  a.out_row,
                                  a.in_row,
                                  static_cast<int>(length),
                                  static_cast<int>(a.count),
                                  static_cast<int>(offset),
                                  static_cast<int>(a.k)};
        const std::int64_t vectors = divide_up(a.count + chosen.per_vector - 1, chosen.per_vector);
        launch_kernel(chosen.short_kernel, grid_of_rows(divide_up(vectors, chosen.threads), a.rows),
                      static_cast<unsigned>(chosen.threads), 0, stream, rows, taps);
        return true;
    }

    // 12 outputs a thread; one of so many parts of the device.
    static bool fills_device(const Problem& p, const cuda_abi::Device& device, int parts = 1) {
        return p.x.outputs * p.batch.length * parts >= static_cast<std::int64_t>(device.multiprocessors) * 1024 * 12;
    }
    static Policy default_policy(const Problem& p, const cuda_abi::Device& device) {
        if (p.taps_come_later) { return policy_of_one_from_memory(p, device); }
        if (!fills_device(p, device)) { return {1, 64, 1, 0}; }
        if (p.x.outputs < 32 * 3 * type_of(p, device).per_vector()) { return {1, 64, 1, 0}; }
        if (p.dtype == kF32) { return p.x.k > 24 ? Policy{5, 64, 1, 0} : Policy{3, 32, 1, 0}; }
        return {3, 32, p.filters > 1 ? 4 : 1, 0};
    }
    // What warps load for each tile counts. H200, with the launch that orders the taps, as above and so: f32, 2^20 samples, 9 taps
    // 11.5 and 10.6 us, 17 taps 11.9 and 10.7; 2^24, 17 taps 45.0 and 41.9; bf16, 2^24, 9 taps 31.3 and 27.8, 33 taps 45.2
    // and 38.0.
    static Policy policy_of_one_from_memory(const Problem& p, const cuda_abi::Device& device) {
        constexpr std::int64_t kLeastOutputs = 768;  // of a row: larger tiles than one vector's
        const bool fills = fills_device(p, device);
        if (p.x.outputs < kLeastOutputs || (!fills && (p.dtype != kF32 || p.x.k > 24 || !fills_device(p, device, 2)))) {
            return {1, 64, 1, 0};
        }
        if (p.dtype == kF32) { return {fills && p.x.k > 12 ? 5 : 3, 64, 1, 0}; }
        return {3, 64, 2, 0};
    }
    // A policy's sizes are those of tiles.
    static few::Way way_of(const Prepared& prepared) {
        const Policy& policy = prepared.policy;
        const bool asked = policy.vectors_per_thread != 0 || policy.threads_per_block != 0 || policy.tiles_per_block != 0;
        return asked ? few::Way::none : few::way_of(prepared.problem);
    }
    static Policy policy_of(const Prepared& prepared) {
        return with_defaults(prepared.policy, default_policy(prepared.problem, prepared.device));
    }
};

}  // namespace

const Rung& direct_few() { return core::only<DirectFew>(); }

}  // namespace tapline::cuda
