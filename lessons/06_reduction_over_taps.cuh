// 06: the loop over what matters.
#pragma once

#include "cuda/primitives/grid.hpp"
#include "cuda/primitives/zero_boundary.cuh"
#include "lessons/lesson.hpp"

namespace tapline::cuda::reduction_over_taps {

inline constexpr RungInfo kInfo{
    .number = "06",
    .name = "reduction_over_taps",
    .origin = "C1",
    .idea = "Loop over the k taps and compute the sample that each meets, rather than search all positions for them.",
    .changed = "k steps instead of n + k - 1; nothing else.",
    .requirements = "At most 2^31 - 1 outputs, one block each.",
    .limited_by = "One thread a block: 31 of a warp's 32 lanes are switched off, and every step waits for the sum's way to memory.",
    .source = "lessons/06_reduction_over_taps.cuh",
};

/// One thread, its sum in global memory.
static __global__ void kernel(Signal s) {
    const std::int64_t o = blockIdx.x;
    volatile float* sum = s.out + o;
    *sum = 0;
    for (std::int64_t t = 0; t < s.k; ++t) {
        const std::int64_t position = o - s.origin + t;
        if (inside(position, s.n)) { *sum = *sum + s.taps[t] * s.in[position]; }
    }
}

class ReductionOverTaps final : public SignalLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override { return refuse_grid(p.x.outputs, 1); }
    [[nodiscard]] double seconds_per_product() const override { return 1e-10; }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override { kernel<<<grid_of(s.m, 1), 1, 0, stream>>>(s); }
};

inline const Rung& rung() {
    static const ReductionOverTaps instance;
    return instance;
}

}  // namespace tapline::cuda::reduction_over_taps
