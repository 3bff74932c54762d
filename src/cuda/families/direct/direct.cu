// The production rungs of direct summation: what they support, how they are launched, which sizes are worth measuring.
#include "cuda/families/direct/direct.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cuda/check.hpp"
#include "cuda/families/ordered_taps.hpp"
#include "cuda/families/production.hpp"
#include "cuda/primitives/elements.cuh"

namespace tapline::cuda {
namespace {

constexpr int kTapChunk = 256;    // taps that a warp of the staged kernel keeps in shared memory at a time
constexpr int kTapsAtOnce = 512;  // one filter for all that is no longer is kept once a block
constexpr int kChunkUnit = 16;    // chunks of fewer taps are multiples of this: vectors of every type

// Fitted to 70,003 to 25,000,000 samples of all types, one row and 700, with 3 to 1,900 taps, and to 2^28 of f32 with 3 to 33, on
// an H200: within 4, 7 and 8%, root of the mean square.
constexpr Cost kFewCost{6.1e-6, {1.5, 0.87, 1.5, 1.5, 1.5}, 1.56, 19.8, 6, 0.11, 1.9e-6, 0.038e-6};
constexpr Cost kWindowCost{7.2e-6, {1.23, 1.11, 1.53, 1.51, 1.69}, 1.42, 21.6, 5, 0.19, 2.56e-6, 0.012e-6};
constexpr Cost kStagedCost{7.5e-6, {1.2, 1.32, 1.22, 1.22, 1.51}, 1.33, 9.1, 1.97, 0.216, 5.74e-6, 0};

// Tiles of a row start up to V - 1 outputs early.
void set_tiles(Arguments& a, std::int64_t tile, int per_vector) { a.tiles = (a.count + per_vector - 1 + tile - 1) / tile; }

std::string sizes(const Policy& policy, const char* more) {
    return std::to_string(policy.vectors_per_thread) + " vectors a thread, " + std::to_string(policy.threads_per_block) +
           " threads a block, " + more;
}

Policy with_defaults(Policy policy, const Policy& defaults) {
    if (policy.vectors_per_thread == 0) { policy.vectors_per_thread = defaults.vectors_per_thread; }
    if (policy.threads_per_block == 0) { policy.threads_per_block = defaults.threads_per_block; }
    if (policy.tiles_per_block == 0) {
        policy.tiles_per_block = defaults.tiles_per_block;
        policy.windows_per_warp = defaults.windows_per_warp;
    }
    return policy;
}

class DirectFew final : public DirectRung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "17";
        info.name = "direct_few";
        info.idea =
            "outputs are turned in shared memory, a warp at a time, and stored as whole lines that bypass the caches; taps "
            "arrive as kernel parameters and are operands of the products; their number is known when the kernel is compiled";
        info.changed = "the strided stores: a lane's own 48 bytes touch a line of their own, 32 lanes' together fill 12";
        info.requirements = "at most 36 taps; f32, f16 or bf16; any boundary, batch, stride and alignment";
        info.limited_by = "memory: it runs at the speed of the copy";
        info.source = "src/cuda/families/direct/direct_few.cuh";
        info.takes_pieces = 1;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device&) const override {
        if (p.x.k > kFewTaps) { return "more than " + std::to_string(kFewTaps) + " taps"; }
        if (p.dtype != kF32 && p.dtype != kF16 && p.dtype != kBf16) {
            return "its sums would not fit the registers: f32, f16 and bf16 only";
        }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return estimate(p, device, kFewCost);
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all{default_policy(p, device)};
        for (const int vectors : {1, 3, 5}) {
            if (vectors == 5 && p.dtype != kF32) { continue; }
            for (const int threads : {32, 64, 128}) {
                for (const int tiles : {1, 2, 4, 6}) { all.push_back({vectors, threads, tiles, 0}); }
            }
        }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Policy policy = policy_of(prepared);
        return sizes(policy, (std::to_string(policy.tiles_per_block) + " tiles a warp").c_str());
    }
    void load(const Prepared& prepared) const override {
        allow_shared(kernel_of(prepared), 0);
        if (short_rows(prepared)) { allow_shared(short_kernel_of(prepared), 0); }
        load_edges(prepared);
    }

    void launch(const Prepared& prepared, const Job& job, void*, cudaStream_t stream) const override {
        const Policy policy = policy_of(prepared);
        const int tile = 32 * policy.vectors_per_thread * per_vector(prepared);
        Arguments a = arguments_of(prepared, job);
        if (short_rows(prepared) && launch_short(prepared, a, stream)) { return; }
        set_tiles(a, tile, per_vector(prepared));
        const int warps = static_cast<int>(std::min<std::int64_t>(policy.threads_per_block / 32, a.tiles));
        int tiles_per_block = policy.tiles_per_block;
        const std::size_t shared = static_cast<std::size_t>(warps) * tile * type_of(prepared.problem, prepared.device).bytes;
        // The second parameter is read only by kernels without row taps; host_taps is never shorter than it.
        void* arguments[] = {&a, const_cast<std::byte*>(prepared.host_taps.data()), &tiles_per_block};
        cuda::launch(kernel_of(prepared), grid_of(divide_up(a.tiles, std::int64_t{tiles_per_block} * warps), a.rows), 32 * warps,
                     arguments, shared, stream);
        const int chunks = static_cast<int>(divide_up(prepared.problem.x.k, per_vector(prepared)));
        launch_edges(prepared, a, {tile, tile + std::int64_t{chunks} * per_vector(prepared)}, stream);
    }

private:
    static int per_vector(const Prepared& prepared) { return 16 / type_of(prepared.problem, prepared.device).bytes; }

    // 12 outputs a thread; one of so many parts of the device.
    static bool fills_device(const Problem& p, const cuda_abi::Device& device, int parts = 1) {
        return p.x.outputs * p.batch.length * parts >= static_cast<std::int64_t>(device.multiprocessors) * 1024 * 12;
    }
    // One vector a thread, one tile a warp: the sizes for signals that do not fill the device.
    static bool short_rows(const Prepared& prepared) {
        const Policy policy = policy_of(prepared);
        return policy.vectors_per_thread == 1 && policy.tiles_per_block == 1 && !taps_in_memory(prepared.problem);
    }
    static bool launch_short(const Prepared& prepared, const Arguments& a, cudaStream_t stream) {
        constexpr std::int64_t kMost = std::int64_t{1} << 30;
        const std::int64_t offset = a.first - a.origin - a.in_first;
        const std::int64_t length = a.in_last - a.in_first;
        if (a.zero_vectors == 0 || a.plain_layout == 0 || a.plain_store == 0 || a.count > kMost || length > kMost ||
            std::abs(offset) > kMost || a.rows > kMostRowsAlongY) {
            return false;
        }
        few::ShortRows rows{a.out,
                            a.in,
                            a.out_row,
                            a.in_row,
                            static_cast<int>(length),
                            static_cast<int>(a.count),
                            static_cast<int>(offset),
                            static_cast<int>(a.k)};
        void* arguments[] = {&rows, const_cast<std::byte*>(prepared.host_taps.data())};
        const int threads = policy_of(prepared).threads_per_block;
        const std::int64_t vectors = divide_up(a.count + per_vector(prepared) - 1, per_vector(prepared));
        cuda::launch(short_kernel_of(prepared), grid_of(divide_up(vectors, threads), a.rows), threads, arguments, 0, stream);
        return true;
    }
    static const void* short_kernel_of(const Prepared& prepared) {
        const Problem& p = prepared.problem;
        const int chunks = static_cast<int>((p.x.k + per_vector(prepared) - 1) / per_vector(prepared));
        return p.dtype == kF32 ? short_kernel_f32(chunks) : short_kernel_16bit(p.dtype, chunks);
    }

    static Policy default_policy(const Problem& p, const cuda_abi::Device& device) {
        if (p.taps_come_later) { return policy_of_one_from_memory(p, device); }
        if (!fills_device(p, device)) { return {1, 64, 1, 0}; }
        if (p.x.outputs < 32 * 3 * (16 / type_of(p, device).bytes)) { return {1, 64, 1, 0}; }
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
    static Policy policy_of(const Prepared& prepared) {
        return with_defaults(prepared.policy, default_policy(prepared.problem, prepared.device));
    }
    static const void* kernel_of(const Prepared& prepared) {
        const Problem& p = prepared.problem;
        const int vectors = policy_of(prepared).vectors_per_thread;
        const int chunks = static_cast<int>((p.x.k + per_vector(prepared) - 1) / per_vector(prepared));
        const void* kernel = p.dtype == kF32 ? few_kernel_f32(vectors, chunks, taps_in_memory(p))
                                             : few_kernel_16bit(p.dtype, vectors, chunks, taps_in_memory(p));
        if (kernel == nullptr) { throw CudaError(cuda_abi::Code::argument, "policy: no kernel of these sizes"); }
        return kernel;
    }
};

class DirectWindow final : public DirectRung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "18";
        info.name = "direct_window";
        info.idea =
            "windows pass through two buffers of a warp in shared memory: one is convolved while the next is copied into the "
            "other asynchronously. A window serves several tiles";
        info.changed =
            "the window's source: with more than about 36 taps its loads through the L1 cache cost more than the products. "
            "Warps stay and go from window to window";
        info.requirements = "at most 2 KiB of taps; any type, boundary, batch, stride and alignment";
        info.limited_by =
            "multiply-adds, one vector from shared memory feeds 48 or 80 of them; with rows' own taps the register banks";
        info.source = "src/cuda/families/direct/direct_window.cuh";
        info.takes_pieces = 1;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        const Refusal refused = refuse_types(p);
        if (!refused.empty()) { return refused; }
        const int most = 2048 / type_of(p, device).tap_bytes;
        if (p.x.k > most) { return "more than " + std::to_string(most) + " taps"; }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        Problem known = p;
        if (p.dtype != kF32) { known.taps_come_later = 0; }  // they are looped over all the same
        return estimate(known, device, kWindowCost);
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all{default_policy(p, device)};
        for (const int vectors : {1, 3, 5}) {
            if (vectors == 5 && p.dtype != kF32) { continue; }
            for (const int tiles : {1, 2, 3, 4}) {
                for (const int windows : {0, 1}) { all.push_back({vectors, window::kThreads, tiles, windows}); }
            }
        }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Policy policy = policy_of(prepared);
        return sizes(policy, (std::to_string(policy.tiles_per_block) + " tiles a window, " +
                              (policy.windows_per_warp == 1 ? "one window" : "windows one after the other") + " a warp")
                                 .c_str());
    }
    void load(const Prepared& prepared) const override {
        const void* kernel = kernel_of(prepared);
        const std::size_t shared = shape_of(prepared).shared_bytes;
        allow_shared(kernel, shared);
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&prepared.blocks_per_multiprocessor, kernel, window::kThreads, shared),
              "occupancy");
        load_edges(prepared);
    }
    void launch(const Prepared& prepared, const Job& job, void*, cudaStream_t stream) const override {
        constexpr int kWarps = window::kThreads / 32;
        const Shape shape = shape_of(prepared);
        Arguments a = arguments_of(prepared, job);
        const std::int64_t vector = 16 / type_of(prepared.problem, prepared.device).bytes;
        set_tiles(a, shape.outputs, static_cast<int>(vector));
        if (a.tiles > kMostBlocks || a.rows > (std::int64_t{1} << 62) / a.tiles || a.tiles * a.rows / kWarps >= kMostBlocks) {
            throw CudaError(cuda_abi::Code::unsupported,
                            "problem: more rows or tiles than one launch has blocks; divide the batch");
        }
        const std::int64_t all = divide_up(a.tiles * a.rows, kWarps);
        const std::int64_t fill =
            static_cast<std::int64_t>(prepared.device.multiprocessors) * std::max(1, prepared.blocks_per_multiprocessor);
        const std::int64_t blocks = policy_of(prepared).windows_per_warp == 1 ? all : std::min(all, fill);
        window::Windows windows = inner_windows(prepared, a, shape);
        windows.step_rows = blocks * kWarps / a.tiles;
        windows.step_windows = static_cast<int>(blocks * kWarps % a.tiles);
        void* arguments[] = {&a, const_cast<std::byte*>(prepared.host_taps.data()), &windows};
        cuda::launch(kernel_of(prepared), dim3(static_cast<unsigned>(blocks)), window::kThreads, arguments, shape.shared_bytes,
                     stream);
        const std::int64_t per_vector = 16 / type_of(prepared.problem, prepared.device).bytes;
        launch_edges(prepared, a,
                     {static_cast<int>(shape.outputs), shape.outputs + divide_up(prepared.problem.x.k, per_vector) * per_vector},
                     stream);
    }

private:
    struct Shape {
        int tiles, slots, buffers;
        std::int64_t outputs;  // of a window
        std::size_t shared_bytes;
    };
    // Rows that all begin at the same place between two 16-byte boundaries have the same inner windows; others have none.
    static window::Windows inner_windows(const Prepared& prepared, const Arguments& a, const Shape& shape) {
        window::Windows w{};
        w.windows = static_cast<int>(a.tiles);
        w.tiles = shape.tiles;
        w.slots = shape.slots;
        w.buffers = shape.buffers;
        const std::int64_t bytes = type_of(prepared.problem, prepared.device).bytes;
        const std::int64_t offset = a.first - a.origin - a.in_first;
        const auto address = reinterpret_cast<std::uintptr_t>(a.in) + static_cast<std::uintptr_t>(offset * bytes);
        const auto past = static_cast<std::int64_t>(address % 16);
        const bool alike = a.rows == 1 || a.in_row * bytes % 16 == 0;
        if (a.plain_layout == 0 || !alike || past % bytes != 0 || a.exact_edges == kExact) { return w; }
        w.shift = static_cast<int>(past / bytes);
        w.start = offset - w.shift;
        const std::int64_t per_vector = 16 / bytes;
        const std::int64_t size = shape.outputs + divide_up(prepared.problem.x.k, per_vector) * per_vector;
        const std::int64_t length = a.in_last - a.in_first;
        // The first that begins at or after sample 0 and output 0, and the first whose samples or outputs go too far.
        const std::int64_t first = std::max(w.start < 0 ? divide_up(-w.start, shape.outputs) : 0, std::int64_t{w.shift > 0});
        const std::int64_t by_samples = length - size - w.start < 0 ? 0 : (length - size - w.start) / shape.outputs + 1;
        const std::int64_t by_outputs = (a.count + w.shift) / shape.outputs;
        const std::int64_t last = std::min({by_samples, by_outputs, a.tiles});
        w.inner_first = static_cast<int>(std::min(first, a.tiles));
        w.inner_last = static_cast<int>(std::max<std::int64_t>(last, w.inner_first));
        return w;
    }
    static Shape shape_of(const Prepared& prepared) {
        const Policy policy = policy_of(prepared);
        const Type type = type_of(prepared.problem, prepared.device);
        Shape s{};
        s.buffers = policy.windows_per_warp == 1 ? 1 : 2;
        s.slots = static_cast<int>((prepared.problem.x.k + kChunkUnit - 1) / kChunkUnit * kChunkUnit);
        for (s.tiles = policy.tiles_per_block; s.tiles >= 1; --s.tiles) {
            s.outputs = 32ll * policy.vectors_per_thread * (16 / type.bytes) * s.tiles;
            const std::int64_t taps = taps_in_memory(prepared.problem) ? s.slots * type.tap_bytes : 0;
            s.shared_bytes =
                static_cast<std::size_t>((window::kThreads / 32) * s.buffers * ((s.outputs + s.slots) * type.bytes + taps));
            if (s.shared_bytes <= shared_limit(prepared.device)) { return s; }
        }
        throw CudaError(cuda_abi::Code::argument, "policy: tiles larger than a block's shared memory");
    }
    static Policy default_policy(const Problem& p, const cuda_abi::Device& device) {
        const std::int64_t outputs = p.x.outputs * p.batch.length;
        const std::int64_t fills = static_cast<std::int64_t>(device.multiprocessors) * 768 * 3 * (16 / type_of(p, device).bytes);
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
    static const void* unrolled(const Problem& p, Policy& policy) {
        if (p.dtype != kF32 || taps_in_memory(p) || policy.vectors_per_thread == 1) { return nullptr; }
        return window_kernel_unrolled(static_cast<int>(p.x.k), &policy.vectors_per_thread);
    }
    static Policy policy_of(const Prepared& prepared) {
        Policy policy = with_defaults(prepared.policy, default_policy(prepared.problem, prepared.device));
        unrolled(prepared.problem, policy);
        return policy;
    }
    static const void* kernel_of(const Prepared& prepared) {
        const Problem& p = prepared.problem;
        Policy policy = policy_of(prepared);
        if (const void* kernel = unrolled(p, policy); kernel != nullptr) { return kernel; }
        const void* kernel = window_kernel_of(p.dtype, p.taps_dtype, policy_of(prepared).vectors_per_thread, taps_in_memory(p));
        if (kernel == nullptr) { throw CudaError(cuda_abi::Code::argument, "policy: no kernel of these sizes"); }
        return kernel;
    }
};

// What the staged kernel is launched with.
struct StagedSizes {
    int chunk = 0;
    std::size_t shared_bytes = 0;
};

StagedSizes staged_sizes(const Prepared& prepared, std::int64_t taps, const Policy& policy) {
    const Type type = type_of(prepared.problem, prepared.device);
    const int tile = 32 * policy.vectors_per_thread * (16 / type.bytes);
    constexpr int kWarps = staged::kThreads / 32;
    const bool row_taps = prepared.problem.filters > 1;
    const auto bytes = [&](std::int64_t chunk) {
        const bool changing = row_taps || taps > chunk;
        const std::int64_t windows = 2 * (tile + chunk) * type.bytes;
        const std::int64_t tap_chunk = chunk * type.tap_bytes;
        return static_cast<std::size_t>(changing ? kWarps * (windows + 2 * tap_chunk) : kWarps * windows + tap_chunk);
    };
    const auto rounded = [](std::int64_t t) { return (t + kChunkUnit - 1) / kChunkUnit * kChunkUnit; };
    std::int64_t chunk = rounded(std::min<std::int64_t>(taps, taps <= kTapsAtOnce && !row_taps ? kTapsAtOnce : kTapChunk));
    while (chunk > kChunkUnit && bytes(chunk) > shared_limit(prepared.device)) { chunk -= kChunkUnit; }
    return {static_cast<int>(chunk), bytes(chunk)};
}

const void* staged_kernel(const Prepared& prepared, int vectors) {
    const void* kernel = direct_kernel_of(prepared.problem.dtype, prepared.problem.taps_dtype, vectors);
    if (kernel == nullptr) { throw CudaError(cuda_abi::Code::argument, "policy: no kernel of these sizes"); }
    return kernel;
}

// A block goes through the taps one after the other: with few outputs that takes as long as for a full device. 90,001 outputs,
// 14,000 taps, H200: 165 us.
double serial_seconds(double taps, const cuda_abi::Device& device) {
    constexpr double kFlopsOfTap = 24 * 256;
    return taps * kFlopsOfTap / (device.peak_flops / device.multiprocessors);
}

void load_staged(const Prepared& prepared, const Policy& policy, std::int64_t taps) {
    const void* kernel = staged_kernel(prepared, policy.vectors_per_thread);
    const StagedSizes sizes = staged_sizes(prepared, taps, policy);
    allow_shared(kernel, sizes.shared_bytes);
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&prepared.blocks_per_multiprocessor, kernel, staged::kThreads,
                                                        sizes.shared_bytes),
          "occupancy");
    load_edges(prepared);
}

class Direct final : public DirectRung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "19";
        info.name = "direct";
        info.idea = "a filter of any length passes in chunks of taps, each with its part of the window; the sums stay in registers";
        info.changed = "taps no longer come by value: chunks of them are copied beside the window. One tile a window";
        info.requirements = "nothing: any number of taps, type, boundary, batch, stride and alignment";
        info.limited_by =
            "multiply-adds, one vector from shared memory feeds 48 or 80 of them; with rows' own taps the register banks";
        info.source = "src/cuda/families/direct/direct.cuh";
        info.takes_pieces = 1;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device&) const override { return refuse_types(p); }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        Problem known = p;  // one filter's taps come from memory always
        known.taps_come_later = 0;
        return std::max(estimate(known, device, kStagedCost), kStagedCost.start + serial_seconds(static_cast<double>(p.x.k), device));
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override {
        std::vector<Policy> all{default_policy(p, device)};
        for (const int vectors : {1, 3, 5}) {
            if (vectors == 5 && p.dtype != kF32) { continue; }
            for (const int tiles : {-1, 1, 2, 4, 8}) { all.push_back({vectors, staged::kThreads, tiles, 0}); }
        }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        const Policy policy = policy_of(prepared);
        return sizes(policy, policy.tiles_per_block < 0 ? "blocks as many as the device holds"
                                                        : (std::to_string(policy.tiles_per_block) + " tiles a warp").c_str());
    }
    void load(const Prepared& prepared) const override { load_staged(prepared, policy_of(prepared), prepared.problem.x.k); }

    void launch(const Prepared& prepared, const Job& job, void*, cudaStream_t stream) const override {
        const Policy policy = policy_of(prepared);
        const Type type = type_of(prepared.problem, prepared.device);
        const StagedSizes shape = staged_sizes(prepared, prepared.problem.x.k, policy);
        Arguments a = arguments_of(prepared, job);
        set_tiles(a, 32ll * policy.vectors_per_thread * (16 / type.bytes), 16 / type.bytes);
        const std::int64_t fill =
            static_cast<std::int64_t>(prepared.device.multiprocessors) * std::max(1, prepared.blocks_per_multiprocessor);
        constexpr int kWarps = staged::kThreads / 32;
        const std::int64_t blocks = policy.tiles_per_block < 0 ? std::min(divide_up(a.tiles, kWarps), divide_up(fill, a.rows))
                                                               : divide_up(a.tiles, std::int64_t{policy.tiles_per_block} * kWarps);
        int segments = 1;
        int chunk = shape.chunk;
        std::int64_t segment = prepared.problem.x.k;
        void* partial = nullptr;
        void* arguments[] = {&a, &chunk, &segments, &segment, &partial};
        cuda::launch(staged_kernel(prepared, policy.vectors_per_thread), grid_of(blocks, a.rows), staged::kThreads, arguments,
                     shape.shared_bytes, stream);
        const int tile = 32 * policy.vectors_per_thread * (16 / type.bytes);
        launch_edges(prepared, a, {tile, tile + divide_up(prepared.problem.x.k, 16 / type.bytes) * (16 / type.bytes)}, stream);
    }

private:
    static Policy default_policy(const Problem& p, const cuda_abi::Device& device) {
        const int per_vector = 16 / type_of(p, device).bytes;
        const std::int64_t outputs = p.x.outputs * p.batch.length;
        const std::int64_t fills = static_cast<std::int64_t>(device.multiprocessors) * 768 * 3 * per_vector;
        if (outputs < fills) { return {1, staged::kThreads, 1, 0}; }
        return {3, staged::kThreads, -1, 0};
    }
    static Policy policy_of(const Prepared& prepared) {
        return with_defaults(prepared.policy, default_policy(prepared.problem, prepared.device));
    }
};

class SplitTaps final : public Rung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "20";
        info.name = "split_taps";
        info.idea = "a filter of very many taps is divided among blocks, whose sums a second kernel adds up in a fixed order";
        info.changed = "one block went through all taps of its outputs; with few outputs the rest of the device stood still";
        info.requirements = "workspace for a sum an output and segment; worth it for few outputs and many taps";
        info.limited_by = "memory where there is one output, multiply-adds where there are many";
        info.source = "src/cuda/families/direct/split_taps.cuh";
        info.takes_pieces = 1;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.x.k < 2 * kTapChunk) { return "fewer than " + std::to_string(2 * kTapChunk) + " taps: nothing to divide"; }
        if (segments_of(p, device) < 2) { return "the outputs alone fill the device"; }
        return refuse_types(p);
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        return std::max(estimate(p, device, kStagedCost),
                        serial_seconds(static_cast<double>(p.x.k) / static_cast<double>(segments_of(p, device)), device)) +
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
    void load(const Prepared& prepared) const override {
        load_staged(prepared, kPolicy, segment_taps(prepared));
        allow_shared(sum_segments_kernel_of(prepared.problem.dtype), 0);
    }
    void launch(const Prepared& prepared, const Job& job, void* workspace, cudaStream_t stream) const override {
        const Type type = type_of(prepared.problem, prepared.device);
        std::int64_t segment = segment_taps(prepared);
        const StagedSizes shape = staged_sizes(prepared, segment, kPolicy);
        Arguments a = arguments_of(prepared, job);
        set_tiles(a, 32ll * kPolicy.vectors_per_thread * (16 / type.bytes), 16 / type.bytes);
        int segments = static_cast<int>((prepared.problem.x.k + segment - 1) / segment);
        int chunk = shape.chunk;
        void* partial = workspace;
        void* arguments[] = {&a, &chunk, &segments, &segment, &partial};
        cuda::launch(staged_kernel(prepared, kPolicy.vectors_per_thread),
                     grid_of(divide_up(a.tiles, staged::kThreads / 32) * segments, a.rows), staged::kThreads, arguments,
                     shape.shared_bytes, stream);
        const int per_vector = 16 / type.bytes;
        const int tile = 32 * kPolicy.vectors_per_thread * per_vector;
        launch_edges(prepared, a, {tile, tile + divide_up(segment, per_vector) * per_vector, segments, segment, partial}, stream);
        constexpr int kThreads = 128;
        void* sum_arguments[] = {&a, &partial, &segments};
        cuda::launch(sum_segments_kernel_of(prepared.problem.dtype), grid_of(divide_up(a.rows * a.count, kThreads), 1), kThreads,
                     sum_arguments, 0, stream);
    }

private:
    static constexpr Policy kPolicy{1, staged::kThreads, 1, 0};

    // As many as fill the device, each of whole chunks.
    static std::int64_t segments_of(const Problem& p, const cuda_abi::Device& device) {
        const std::int64_t tile = staged::kThreads * (16 / type_of(p, device).bytes);
        const std::int64_t tiles = (p.x.outputs + tile - 1) / tile * p.batch.length;
        const std::int64_t wanted = (static_cast<std::int64_t>(device.multiprocessors) * 8 + tiles - 1) / tiles;
        return std::clamp<std::int64_t>(std::min(wanted, p.x.k / kTapChunk), 1, 65535);
    }
    static std::int64_t segment_taps(const Prepared& prepared) {
        const std::int64_t segments = segments_of(prepared.problem, prepared.device);
        return ((prepared.problem.x.k + segments - 1) / segments + kTapChunk - 1) / kTapChunk * kTapChunk;
    }
};

}  // namespace

const Rung& direct_few() {
    static const DirectFew rung;
    return rung;
}
const Rung& direct_window() {
    static const DirectWindow rung;
    return rung;
}
const Rung& direct() {
    static const Direct rung;
    return rung;
}
const Rung& split_taps() {
    static const SplitTaps rung;
    return rung;
}

}  // namespace tapline::cuda
