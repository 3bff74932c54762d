// 05: the formula, taken literally.
#pragma once

#include "cuda/primitives/grid.hpp"
#include "cuda/primitives/zero_boundary.cuh"
#include "lessons/lesson.hpp"

namespace tapline::cuda::naive_reduction {

inline constexpr RungInfo kInfo{
    .number = "05",
    .name = "naive_reduction",
    .origin = "C0",
    .idea =
        "One block for each output, one thread in it, which walks over all n + k - 1 positions and adds where signal and taps "
        "meet.",
    .changed = "A new start: no sharing, no tile, any mode; the sum lies in global memory and is rewritten at every step.",
    .requirements = "At most 2^31 - 1 outputs, one block each.",
    .limited_by = "n + k - 1 steps for k products, one lane of each warp's 32 at work.",
    .source = "lessons/05_naive_reduction.cuh",
};

/// One thread. volatile: the sum is read from memory and written back at every step, as the line says; without it the compiler
/// would hold the sum in a register, which is the lesson of rung 09.
static __global__ void kernel(Signal s) {
    const std::int64_t o = blockIdx.x;
    volatile float* sum = s.out + o;
    *sum = 0;
    for (std::int64_t position = 0; position < s.n + s.k - 1; ++position) {
        const std::int64_t t = position - (o - s.origin);
        if (inside(position, s.n) && inside(t, s.k)) { *sum = *sum + s.taps[t] * s.in[position]; }
    }
}

class NaiveReduction final : public SignalLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override { return refuse_grid(p.x.outputs, 1); }
    [[nodiscard]] double seconds_per_product() const override { return 1e-8; }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override { kernel<<<grid_of(s.m, 1), 1, 0, stream>>>(s); }
};

inline const Rung& rung() {
    static const NaiveReduction instance;
    return instance;
}

}  // namespace tapline::cuda::naive_reduction
