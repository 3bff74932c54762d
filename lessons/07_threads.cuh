// 07: more than one thread a block.
#pragma once

#include "cuda/primitives/grid.hpp"
#include "cuda/primitives/zero_boundary.cuh"
#include "lessons/lesson.hpp"

namespace tapline::cuda::threads {

inline constexpr RungInfo kInfo{
    .number = "07",
    .name = "threads",
    .origin = "C2",
    .idea = "Eight threads a block, an output each: they share a warp, so one instruction does eight outputs' work.",
    .changed = "8 threads a block instead of 1, an eighth of the blocks; the last block needs a guard.",
    .requirements = "At most 2^31 - 1 blocks of 8 outputs.",
    .limited_by = "24 of a warp's 32 lanes are still switched off; the sum still lies in global memory.",
    .source = "lessons/07_threads.cuh",
};

inline constexpr int kThreads = 8;

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    const std::int64_t o = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (o >= s.m) { return; }
    volatile float* sum = s.out + o;
    *sum = 0;
    for (std::int64_t t = 0; t < s.k; ++t) {
        const std::int64_t position = o - s.origin + t;
        if (inside(position, s.n)) { *sum = *sum + s.taps[t] * s.in[position]; }
    }
}

class Threads final : public SignalLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override { return refuse_grid(p.x.outputs, kThreads); }
    [[nodiscard]] double seconds_per_product() const override { return 2e-11; }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        kernel<<<grid_of(s.m, kThreads), kThreads, 0, stream>>>(s);
    }
};

inline const Rung& rung() {
    static const Threads instance;
    return instance;
}

}  // namespace tapline::cuda::threads
