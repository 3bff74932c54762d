// 09: sums in registers, taps in shared memory.
#pragma once

#include "cuda/primitives/grid.hpp"
#include "cuda/primitives/zero_boundary.cuh"
#include "lessons/lesson.hpp"

namespace tapline::cuda::memory_hierarchy {

inline constexpr RungInfo kInfo{
    .number = "09",
    .name = "memory_hierarchy",
    .origin = "C4",
    .idea = "Keep what is used again close: the sum in a register until it is finished, the taps in shared memory, 4 at a time.",
    .changed = "A register instead of global memory for the sum; staged taps; 32 threads, a whole warp, in one row.",
    .requirements = "At most 2^31 - 1 blocks of 32 outputs.",
    .limited_by = "Two barriers and the loop's own arithmetic for every 4 products; the taps were in the cache anyway.",
    .source = "lessons/09_memory_hierarchy.cuh",
};

inline constexpr int kThreads = 32;
inline constexpr int kStage = 4;

/// Threads without an output stay until the end: they stage taps and come to the barriers like all others.
static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    __shared__ float taps[kStage];
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t o = std::int64_t{blockIdx.x} * kThreads + thread;
    float sum = 0;
    for (std::int64_t t = 0; t < s.k; t += kStage) {
        const int count = static_cast<int>(min(std::int64_t{kStage}, s.k - t));
        if (thread < count) { taps[thread] = s.taps[t + thread]; }
        __syncthreads();
#pragma unroll 1  // unrolling is the next rung's
        for (int j = 0; j < count; ++j) {
            const std::int64_t position = o - s.origin + t + j;
            if (inside(position, s.n)) { sum += taps[j] * s.in[position]; }
        }
        __syncthreads();  // before the next stage overwrites these taps
    }
    if (o < s.m) { s.out[o] = sum; }
}

class MemoryHierarchy final : public SignalLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override { return refuse_grid(p.x.outputs, kThreads); }
    [[nodiscard]] double seconds_per_product() const override { return 2e-12; }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        kernel<<<grid_of(s.m, kThreads), kThreads, 0, stream>>>(s);
    }
};

inline const Rung& rung() {
    static const MemoryHierarchy instance;
    return instance;
}

}  // namespace tapline::cuda::memory_hierarchy
