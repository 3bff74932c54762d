// 07: more than one thread a block.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::threads {

inline constexpr Head kHead("07", "threads", "C2", R"(
Idea: Eight threads a block, an output each: they share a warp, so one instruction does eight outputs' work.
Changed: 8 threads a block instead of 1, an eighth of the blocks; the last block needs a guard.
Requires: At most 2^31 - 1 blocks of 8 outputs.
Limited by: 24 of a warp's 32 lanes are still switched off; the sum still lies in global memory.
)");

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

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel = kernel, .blocks = {.threads = kThreads}, .seconds_per_product = 2e-11};

}  // namespace tapline::cuda::threads
