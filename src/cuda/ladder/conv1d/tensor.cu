// The production rung on tensor cores: what it supports, how it is launched.
#include <algorithm>

#include "cuda/check.hpp"
#include "cuda/ladder/conv1d/direct.hpp"
#include "cuda/ladder/conv1d/production.hpp"
#include "cuda/primitives/elements.cuh"
#include "cuda/primitives/matrix_fragments.cuh"
#include "tapline/types.hpp"

namespace tapline::cuda {
namespace {

using tensor::Tiles;

constexpr double kTileSeconds = 4e-6;        // from a warp's first load to its last store, one tile
constexpr double kShareOfCopyTensor = 0.92;  // reached where memory limits (H200, 2^28 samples, 33 and 65 taps)
// What an output costs beyond, in multiply-adds of the f32 peak: splitting and storing it, and a step of 16 taps in three products
// (65, 129 and 255 taps in f32 and bf16, 2^28 samples, H200).
constexpr double kOutputCost = 36;
constexpr double kStepCost = 5.7;
constexpr double k16BitProducts = 0.4;  // two of three, and no second half to make: 470 us with 127 taps, f32 700

// Half-precision products of a multiprocessor for each of its f32 ones, on 9.0 over those of others (CUDA programming guide,
// arithmetic throughput; 9.0 has twice as many, which mma.sync does not reach).
double step_factor(const cuda_abi::Device& device) {
    if (device.major >= 9) { return 1; }
    return device.minor == 0 ? 0.7 : 3;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

class TensorDirect final : public Rung {
public:
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "21";
        info.name = "tensor_direct";
        info.idea =
            "a tile is a product of two matrices that tensor cores multiply: overlapping rows of samples, and taps in every "
            "position. Floats are split into two halves, three products of which make one";
        info.changed = "multiply-adds limited: tensor cores do sixteen times as many in half precision";
        info.requirements =
            "compute capability 8.0; f32, f16 or bf16; at most 256 taps; unit sample strides; not under strict accuracy";
        info.limited_by = "memory up to about 100 taps, then the tensor cores";
        info.source = "ladder/conv1d/21_tensor.cuh";
        info.takes_pieces = 1;
        info.granularity = tensor::kTile;
        return info;
    }
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override {
        if (p.dtype != kF32 && p.dtype != kF16 && p.dtype != kBf16) { return "its products are of halves: f32, f16 and bf16 only"; }
        if (p.k > tensor::kMostTaps) { return "more than " + std::to_string(tensor::kMostTaps) + " taps"; }
        if (device.major < 8) { return "the device's tensor cores do not have its products (compute capability 8.0)"; }
        if (p.accuracy == static_cast<std::int32_t>(Accuracy::strict)) {
            return "tensor cores cut sums off: not under strict accuracy";
        }
        if (p.in_sample != 1 || p.out_sample != 1) { return "samples must lie side by side"; }
        if (p.output_dtype != p.dtype) { return "the output must be of the signal's type"; }
        return {};
    }
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override {
        const int bytes = type_of(p, device).bytes;
        const double outputs = static_cast<double>(p.output_length) * static_cast<double>(p.batch);
        const double moved = bytes * (outputs + static_cast<double>(p.n) * static_cast<double>(p.batch));
        const double products = kStepCost * step_factor(device) * steps_of(p.k + before_of(p)) * (bytes == 4 ? 1 : k16BitProducts);
        return kLaunchSeconds + kTileSeconds +
               std::max(moved / (kShareOfCopyTensor * device.copy_bytes_per_second),
                        2 * outputs * (kOutputCost + products) / device.peak_flops);
    }
    [[nodiscard]] std::vector<Policy> policies(const Problem&, const cuda_abi::Device&) const override {
        std::vector<Policy> all{Policy{}};
        for (const int tiles : {1, 2, 4, 8, 16}) { all.push_back({0, 0, tiles, 0}); }
        return all;
    }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override {
        return std::to_string(run_of(prepared, prepared.problem.batch, prepared.problem.output_length)) + " tiles of " +
               std::to_string(tensor::kTile) + " outputs a warp";
    }
    void load(const Prepared& prepared) const override {
        allow_shared(tensor_kernel_of(prepared.problem.dtype), kWarps * sizes_of(prepared.problem).warp_bytes);
        load_edges(prepared);
    }

    void launch(const Prepared& prepared, const Job& job, void*, cudaStream_t stream) const override {
        const Problem& p = prepared.problem;
        Arguments a = arguments_of(prepared, job);
        const int bytes = type_of(p, prepared.device).bytes;
        const int per_vector = 16 / bytes;
        if (a.plain_layout == 0 || a.exact_edges != 0 ||
            reinterpret_cast<std::uintptr_t>(a.in) % static_cast<unsigned>(bytes) != 0) {
            a.tiles = divide_up(a.count + per_vector - 1, tensor::kTile);
            launch_edges(prepared, a, {tensor::kTile, tensor::kTile + divide_up(a.k, per_vector) * per_vector}, stream);
            return;
        }
        Tiles g = sizes_of(p);
        const std::int64_t first_tile = floor_div(a.first, tensor::kTile);
        g.tiles = divide_up(a.first + a.count, tensor::kTile) - first_tile;
        g.first_output = first_tile * tensor::kTile - a.first;
        g.start = first_tile * tensor::kTile - a.origin - g.before - a.in_first;
        const std::int64_t room = a.in_last - a.in_first - g.needed - g.start;
        g.inner_first = g.start < 0 ? divide_up(-g.start, tensor::kTile) : 0;
        g.inner_last = room < 0 ? 0 : room / tensor::kTile + 1;
        g.run = run_of(prepared, a.rows, a.count);
        const std::int64_t blocks = divide_up(divide_up(a.rows * g.tiles, g.run), kWarps);
        if (g.tiles > kMostBlocks || blocks > kMostBlocks) {
            throw CudaError(cuda_abi::Code::unsupported,
                            "problem: more rows or tiles than one launch has blocks; divide the batch");
        }
        void* arguments[] = {&a, &g};
        cuda::launch(tensor_kernel_of(p.dtype), dim3(static_cast<unsigned>(blocks)), tensor::kThreads, arguments,
                     static_cast<std::size_t>(kWarps * g.warp_bytes), stream);
    }

private:
    static constexpr int kWarps = tensor::kThreads / 32;

    // Samples from a vector's beginning to the first that an output needs; the same wherever the signal lies in memory, so that
    // the order of the sums is.
    static int before_of(const Problem& p) {
        const int per_vector = p.dtype == kF32 ? 4 : 8;
        const std::int64_t past = -p.origin % per_vector;
        return static_cast<int>(past < 0 ? past + per_vector : past);
    }
    static int steps_of(std::int64_t taps) { return static_cast<int>((taps + 14) / 16) + 1; }
    static Tiles sizes_of(const Problem& p) {
        Tiles g{};
        const int bytes = p.dtype == kF32 ? 4 : 2;
        const int per_vector = 16 / bytes;
        g.before = before_of(p);
        g.end = g.before + tensor::kTile - 1 + static_cast<int>(p.k);
        g.needed = static_cast<int>(divide_up(g.end, per_vector)) * per_vector;
        g.steps = steps_of(g.before + p.k);
        g.needed_halves = tensor::kTile - tensor::kRow + 16 * (g.steps + 3);
        g.tap_entries = 8 * g.steps + 4;
        constexpr int kLine = 128;  // the stage's permutation works on its bytes
        g.samples_bytes = static_cast<int>(divide_up(std::int64_t{g.needed_halves} * bytes, kLine)) * kLine;
        g.halves_bytes = static_cast<int>(divide_up(g.needed_halves, tensor::kRow)) * tensor::kPitch;
        g.warp_bytes = g.samples_bytes + (bytes == 4 ? 2 : 1) * g.halves_bytes + 32 * g.tap_entries;
        g.warp_bytes = static_cast<int>(divide_up(g.warp_bytes, kLine)) * kLine;
        return g;
    }
    // Several tiles a warp, so that loads and products overlap and taps are split once, but no fewer warps than the device holds.
    static int run_of(const Prepared& prepared, std::int64_t rows, std::int64_t count) {
        if (prepared.policy.tiles_per_block > 0) { return prepared.policy.tiles_per_block; }
        const std::int64_t warps = std::int64_t{prepared.device.multiprocessors} * 16;
        return static_cast<int>(std::clamp<std::int64_t>(divide_up(rows * divide_up(count, tensor::kTile), warps), 1, 8));
    }
};

}  // namespace

const Rung& tensor_direct() {
    static const TensorDirect rung;
    return rung;
}

}  // namespace tapline::cuda
