// 08: a block with two axes.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::two_dimensional_block {

inline constexpr Head kHead("08", "two_dimensional_block", "C3", R"(
Idea: Arrange the threads of a block as 4 x 4: the hardware lines them up into the same warp, row after row.
Changed: 16 threads a block instead of 8. That they form a square changes the index, not the machine.
Requires: At most 2^31 - 1 blocks of 16 outputs.
Limited by: Half of a warp's lanes are switched off; the sum still lies in global memory.
)");

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

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel = kernel, .blocks = {.threads = {kColumns, kRows}, .outputs = kThreads}, .seconds_per_product = 1e-11};

}  // namespace tapline::cuda::two_dimensional_block
