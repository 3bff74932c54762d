// 12: a thread an output, and the caches do the rest.
#pragma once

#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/grid.hpp"
#include "cuda/primitives/zero_boundary.cuh"
#include "lessons/lesson.hpp"

namespace tapline::cuda::basic {

inline constexpr RungInfo kInfo{
    .number = "12",
    .name = "basic",
    .origin = "E1",
    .idea = "Write it down plainly, one thread an output, and let the caches find what neighbours share.",
    .changed = "No shared memory and no barriers; the output is clamped on its way out.",
    .requirements = "At most 2^31 - 1 blocks of 256 outputs.",
    .limited_by = "Two loads and a bounds test for each product: the load units are busy, the multipliers are not.",
    .source = "lessons/12_basic.cuh",
};

inline constexpr int kThreads = 256;

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    const std::int64_t o = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (o >= s.m) { return; }
    const std::int64_t start = o - s.origin;
    float sum = 0;
    for (std::int64_t t = 0; t < s.k; ++t) {
        if (inside(start + t, s.n)) { sum += s.taps[t] * s.in[start + t]; }
    }
    s.out[o] = clamp_pass_nan(sum, s.low, s.high);
}

class Basic final : public SignalLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override { return refuse_grid(p.x.outputs, kThreads); }
    [[nodiscard]] bool clamps() const override { return true; }
    [[nodiscard]] double seconds_per_product() const override { return 3e-13; }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        kernel<<<grid_of(s.m, kThreads), kThreads, 0, stream>>>(s);
    }
};

inline const Rung& rung() {
    static const Basic instance;
    return instance;
}

}  // namespace tapline::cuda::basic
