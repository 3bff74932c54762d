// Rung 18: what it supports, how it is launched, which sizes are worth measuring.
#include "cuda/families/direct/direct_window.hpp"

#include <algorithm>

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/edges.hpp"
#include "cuda/families/common/ordered_taps.hpp"
#include "cuda/families/common/shared_memory.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/direct_policies.hpp"

namespace tapline::cuda {
namespace {

// Fitted, as those of rungs 17 and 19, to 70,003 to 25,000,000 samples of all types, one row and 700, with 3 to 1,900 taps, and to
// 2^28 of f32 with 3 to 33, on an H200: within 7%, root of the mean square.
constexpr Cost kWindowCost{7.2e-6, {1.23, 1.11, 1.53, 1.51, 1.69}, 1.42, 21.6, 5, 0.19, 2.56e-6, 0.012e-6};

class DirectWindow final : public DirectRung {
public:
    static constexpr Head kHead{"18", "direct_window", "", R"(
Idea: windows pass through two buffers of a warp in shared memory: one is convolved while the next is copied into the other
asynchronously. A window serves several tiles
Changed: the window's source: with more than about 36 taps its loads through the L1 cache cost more than the products. Warps stay
and go from window to window
Requires: at most 2 KiB of taps; any type, boundary, batch, stride and alignment
Limited by: multiply-adds, one vector from shared memory feeds 48 or 80 of them; with rows' own taps the register banks
)"};

    DirectWindow() : DirectRung(kHead, {.source = "src/cuda/families/direct/direct_window.cuh", .takes_pieces = 1}) {}
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        Refusal refused = refuse_types(p);
        if (!refused.empty()) { return refused; }
        const int most = 2048 / type_of(p, device).tap_bytes;
        if (p.x.k > most) { return "more than " + std::to_string(most) + " taps"; }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        Problem known = p;
        if (p.dtype != kF32) { known.taps_come_later = false; }  // they are looped over all the same
        return estimate(known, device, kWindowCost, static_cast<double>(known.x.k));
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all{default_policy(p, device)};
        for (const int vectors : {1, p.dtype == kF32 ? 5 : 3}) {
            for (const int tiles : {1, 2, 3, 4}) {
                for (const int windows : {0, 1}) { all.push_back({vectors, window::kThreads, tiles, windows}); }
            }
        }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Policy policy = policy_of(prepared);
        return sizes(policy, std::to_string(policy.tiles_per_block) + " tiles a window, " +
                                 (policy.windows_per_warp == 1 ? "one window" : "windows one after the other") + " a warp");
    }
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override {
        const Problem& p = prepared.problem;
        auto chosen = std::make_unique<ChosenWindow>(prepared);
        Policy policy = policy_of(prepared);
        window::KernelWithTaps<float> const unrolled = unrolled_kernel(p, policy);
        chosen->kernel = unrolled != nullptr
                             ? window::WindowKernel(unrolled)
                             : window::kernel_of(p.dtype, p.taps_dtype, policy.vectors_per_thread, taps_in_memory(p));
        chosen->bytes = type_of(p, prepared.device).bytes;
        chosen->shape = shape_of(prepared, policy);
        const Shape& shape = chosen->shape;
        std::visit(
            [&](auto kernel) {
                if (kernel == nullptr) { refuse_policy(); }
                load_kernel(kernel, shape.shared_bytes, prepared.device);
                chosen->most_blocks = policy.windows_per_warp == 1 ? kMostBlocks
                                                                   : std::int64_t{prepared.device.multiprocessors} *
                                                                         blocks_held(kernel, window::kThreads, shape.shared_bytes);
            },
            chosen->kernel);
        chosen->edges = load_edges(prepared, {static_cast<int>(shape.outputs), shape.samples});
        return chosen;
    }
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void*, cudaStream_t stream) const override {
        constexpr int kWarps = window::kThreads / 32;
        const auto& chosen = prepared.chosen_as<ChosenWindow>();
        Arguments a = arguments_of(prepared, job, on_device);
        set_tiles(a, chosen.shape.outputs, 16 / chosen.bytes);
        if (a.tiles > kMostBlocks || a.rows > (std::int64_t{1} << 62) / a.tiles || a.tiles * a.rows / kWarps >= kMostBlocks) {
            refuse_launch();
        }
        const std::int64_t blocks = std::min(divide_up(a.tiles * a.rows, kWarps), chosen.most_blocks);
        window::Windows windows = inner_windows(chosen, a);
        windows.step_rows = blocks * kWarps / a.tiles;
        windows.step_windows = static_cast<int>(blocks * kWarps % a.tiles);
        std::visit(
            [&]<class H>(window::KernelWithTaps<H> kernel) {
                const auto& taps = *reinterpret_cast<const window::TapsByValue<H>*>(prepared.host_taps.data());
                launch_kernel(kernel, static_cast<unsigned>(blocks), window::kThreads, chosen.shape.shared_bytes, stream, a, taps,
                              windows);
            },
            chosen.kernel);
        launch_edges(chosen.edges, a, nullptr, stream);
    }

private:
    struct Shape {
        int tiles, slots, buffers;
        std::int64_t outputs, samples;  // of a window
        std::size_t shared_bytes;
    };
    struct ChosenWindow : OrderedTaps {
        using OrderedTaps::OrderedTaps;
        window::WindowKernel kernel;
        Shape shape{};
        int bytes = 0;  // of a sample
        std::int64_t most_blocks = 0;
        Edges edges;
    };
    // Rows that all begin at the same place between two 16-byte boundaries have the same inner windows; others have none.
    static window::Windows inner_windows(const ChosenWindow& chosen, const Arguments& a) {
        const Shape& shape = chosen.shape;
        window::Windows w{};
        w.windows = static_cast<int>(a.tiles);
        w.tiles = shape.tiles;
        w.slots = shape.slots;
        w.buffers = shape.buffers;
        const std::int64_t bytes = chosen.bytes;
        const std::int64_t offset = a.first - a.origin - a.in_first;
        const auto address = reinterpret_cast<std::uintptr_t>(a.in) + static_cast<std::uintptr_t>(offset * bytes);
        const auto past = static_cast<std::int64_t>(address % 16);
        const bool alike = a.rows == 1 || a.in_row * bytes % 16 == 0;
        if (a.plain_layout == 0 || !alike || past % bytes != 0 || a.exact_edges == kExact) { return w; }
        w.shift = static_cast<int>(past / bytes);
        w.start = offset - w.shift;
        const std::int64_t length = a.in_last - a.in_first;
        // The first that begins at or after sample 0 and output 0, and the first whose samples or outputs go too far.
        const std::int64_t first = std::max(w.start < 0 ? divide_up(-w.start, shape.outputs) : 0, std::int64_t{w.shift > 0});
        const std::int64_t room = length - shape.samples - w.start;
        const std::int64_t by_samples = room < 0 ? 0 : room / shape.outputs + 1;
        const std::int64_t by_outputs = (a.count + w.shift) / shape.outputs;
        const std::int64_t last = std::min({by_samples, by_outputs, a.tiles});
        w.inner_first = static_cast<int>(std::min(first, a.tiles));
        w.inner_last = static_cast<int>(std::max<std::int64_t>(last, w.inner_first));
        return w;
    }
    static Shape shape_of(const Prepared& prepared, const Policy& policy) {
        const Type type = type_of(prepared.problem, prepared.device);
        const std::int64_t per_vector = type.per_vector();
        Shape s{};
        s.buffers = policy.windows_per_warp == 1 ? 1 : 2;
        s.slots = static_cast<int>(divide_up(prepared.problem.x.k, kChunkUnit) * kChunkUnit);
        for (s.tiles = policy.tiles_per_block; s.tiles >= 1; --s.tiles) {
            s.outputs = 32 * policy.vectors_per_thread * per_vector * s.tiles;
            s.samples = s.outputs + divide_up(prepared.problem.x.k, per_vector) * per_vector;
            const std::int64_t taps = taps_in_memory(prepared.problem) ? s.slots * type.tap_bytes : 0;
            const std::int64_t bytes = (window::kThreads / 32) * s.buffers * ((s.outputs + s.slots) * type.bytes + taps);
            s.shared_bytes = static_cast<std::size_t>(bytes);
            if (bytes <= prepared.device.shared_bytes_per_block) { return s; }
        }
        throw CudaError(cuda_abi::Code::argument, "policy: tiles larger than a block's shared memory");
    }
    static Policy default_policy(const Problem& p, const cuda_abi::Device& device) {
        const std::int64_t outputs = p.x.outputs * p.batch.length;
        const std::int64_t fills = static_cast<std::int64_t>(device.multiprocessors) * 768 * 3 * type_of(p, device).per_vector();
        const int vectors = p.dtype == kF32 ? 5 : 3;
        if (p.taps_come_later && outputs >= fills / 2) {
            // H200, as rows with their own and so: f64, 2^24 samples, 9 taps 111 and 85 us; f32, 200 taps 155 and 147; 2^20
            // samples, f32, 33 taps 16.1 and 12.7, f64 with 64 taps 18.3 and 17.2.
            const bool many = outputs >= 4 * fills || (outputs >= fills && p.x.k < 24);
            return {vectors, window::kThreads, !many ? 1 : p.dtype == kF32 && p.x.k > 80 ? 2 : 3, 1};
        }
        if (outputs < fills) { return {1, window::kThreads, 1, 1}; }
        return {vectors, window::kThreads, p.filters > 1 ? 1 : (p.dtype == kF32 && p.x.k <= 80 ? 2 : 3), p.x.k <= 48 ? 1 : 0};
    }
    // Unrolled kernels have the one size that suits them; a policy of a single vector asks for the loop.
    static window::KernelWithTaps<float> unrolled_kernel(const Problem& p, Policy& policy) {
        if (p.dtype != kF32 || taps_in_memory(p) || policy.vectors_per_thread == 1) { return nullptr; }
        return window::unrolled_kernel(static_cast<int>(p.x.k), &policy.vectors_per_thread);
    }
    static Policy policy_of(const Prepared& prepared) {
        Policy policy = with_defaults(prepared.policy, default_policy(prepared.problem, prepared.device));
        unrolled_kernel(prepared.problem, policy);
        return policy;
    }
};

}  // namespace

const Rung& direct_window() { return core::only<DirectWindow>(); }

}  // namespace tapline::cuda
