// 08: a block with two axes.
#pragma once

#include "cuda/primitives/grid.hpp"
#include "cuda/primitives/zero_boundary.cuh"
#include "lessons/lesson.hpp"

namespace tapline::cuda::two_dimensional_block {

inline constexpr RungInfo kInfo{
    .number = "08",
    .name = "two_dimensional_block",
    .origin = "C3",
    .idea = "Arrange the threads of a block as 4 x 4: the hardware lines them up into the same warp, row after row.",
    .changed = "16 threads a block instead of 8. That they form a square changes the index, not the machine.",
    .requirements = "At most 2^31 - 1 blocks of 16 outputs.",
    .limited_by = "Half of a warp's lanes are switched off; the sum still lies in global memory.",
    .source = "lessons/08_two_dimensional_block.cuh",
};

inline constexpr int kColumns = 4;
inline constexpr int kRows = 4;
inline constexpr int kThreads = kColumns * kRows;

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    const std::int64_t o = std::int64_t{blockIdx.x} * kThreads + threadIdx.y * kColumns + threadIdx.x;
    if (o >= s.m) { return; }
    volatile float* sum = s.out + o;
    *sum = 0;
    for (std::int64_t t = 0; t < s.k; ++t) {
        const std::int64_t position = o - s.origin + t;
        if (inside(position, s.n)) { *sum = *sum + s.taps[t] * s.in[position]; }
    }
}

class TwoDimensionalBlock final : public SignalLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override { return refuse_grid(p.x.outputs, kThreads); }
    [[nodiscard]] double seconds_per_product() const override { return 1e-11; }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        kernel<<<grid_of(s.m, kThreads), dim3(kColumns, kRows), 0, stream>>>(s);
    }
};

inline const Rung& rung() {
    static const TwoDimensionalBlock instance;
    return instance;
}

}  // namespace tapline::cuda::two_dimensional_block
