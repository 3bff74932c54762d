// 13: the taps in constant memory.
#pragma once

#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/grid.hpp"
#include "cuda/primitives/zero_boundary.cuh"
#include "lessons/lesson.hpp"

namespace tapline::cuda::constant_memory {

inline constexpr RungInfo kInfo{
    .number = "13",
    .name = "constant_memory",
    .origin = "E2",
    .idea = "All threads of a warp want the same tap at the same time: constant memory has a cache made to answer just that.",
    .changed = "The taps come from a __constant__ array, filled on the stream before the launch.",
    .requirements = "k <= 16384, 64 KB. One array for the whole process, so one run at a time.",
    .limited_by = "A load and a bounds test for each product, as before: the broadcast of a tap was cheap in the other cache too.",
    .source = "lessons/13_constant_memory.cuh",
};

inline constexpr int kThreads = 256;
inline constexpr int kMaxTaps = 16384;

static __constant__ float taps[kMaxTaps];  // (k) used

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    const std::int64_t o = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (o >= s.m) { return; }
    const std::int64_t start = o - s.origin;
    const int k = static_cast<int>(s.k);
    float sum = 0;
    for (int t = 0; t < k; ++t) {
        if (inside(start + t, s.n)) { sum += taps[t] * s.in[start + t]; }
    }
    s.out[o] = clamp_pass_nan(sum, s.low, s.high);
}

class ConstantMemory final : public SignalLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override {
        if (p.x.k > kMaxTaps) { return "constant memory holds 16384 taps, not " + std::to_string(p.x.k); }
        return refuse_grid(p.x.outputs, kThreads);
    }
    [[nodiscard]] bool clamps() const override { return true; }
    [[nodiscard]] double seconds_per_product() const override { return 3e-13; }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        const std::size_t taps_bytes = static_cast<std::size_t>(s.k) * sizeof(float);
        check(cudaMemcpyToSymbolAsync(taps, s.taps, taps_bytes, 0, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyToSymbolAsync");
        kernel<<<grid_of(s.m, kThreads), kThreads, 0, stream>>>(s);
    }
};

inline const Rung& rung() {
    static const ConstantMemory instance;
    return instance;
}

}  // namespace tapline::cuda::constant_memory
