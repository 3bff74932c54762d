// 09: sums in registers, taps in shared memory.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::memory_hierarchy {

inline constexpr Head kHead("09", "memory_hierarchy", "C4", R"(
Idea: Keep what is used again close: the sum in a register until it is finished, the taps in shared memory, 4 at a time.
Changed: A register instead of global memory for the sum; staged taps; 32 threads, a whole warp, in one row.
Requires: At most 2^31 - 1 blocks of 32 outputs.
Limited by: Two barriers and the loop's own arithmetic for every 4 products; the taps were in the cache anyway.
)");

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

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel = kernel, .blocks = {.threads = kThreads}, .seconds_per_product = 2e-12};

}  // namespace tapline::cuda::memory_hierarchy
