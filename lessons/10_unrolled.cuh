// 10: the loop over staged taps, unrolled.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::unrolled {

inline constexpr Head kHead("10", "unrolled", "C5", R"(
Idea: Stage 8 taps at a time and write their 8 products out: no loop arithmetic, and 8 loads of samples in flight at once.
Changed: 8 taps a stage instead of 4, unrolled; the 32 threads stand as 8 x 4.
Requires: At most 2^31 - 1 blocks of 32 outputs.
Limited by: A load and a bounds test for each product; two barriers for every 8; blocks of one warp fill no multiprocessor.
)");

inline constexpr int kColumns = 8;
inline constexpr int kRows = 4;
inline constexpr int kThreads = kColumns * kRows;
inline constexpr int kStage = 8;  // the first row of threads loads it
static_assert(kStage == kColumns);

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    __shared__ float taps[kStage];
    const int thread = static_cast<int>(threadIdx.y * kColumns + threadIdx.x);
    const std::int64_t o = std::int64_t{blockIdx.x} * kThreads + thread;
    const auto product = [&](std::int64_t t, int j) {
        const std::int64_t position = o - s.origin + t + j;
        return inside(position, s.n) ? taps[j] * s.in[position] : 0.0f;
    };
    float sum = 0;
    for (std::int64_t t = 0; t < s.k; t += kStage) {
        const int count = static_cast<int>(min(std::int64_t{kStage}, s.k - t));
        if (thread < count) { taps[thread] = s.taps[t + thread]; }
        __syncthreads();
        if (count == kStage) {
#pragma unroll
            for (int j = 0; j < kStage; ++j) { sum += product(t, j); }
        } else {  // the last k % 8 taps
            for (int j = 0; j < count; ++j) { sum += product(t, j); }
        }
        __syncthreads();  // before the next stage overwrites these taps
    }
    if (o < s.m) { s.out[o] = sum; }
}

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel = kernel, .blocks = {.threads = {kColumns, kRows}, .outputs = kThreads}, .seconds_per_product = 1e-12};

}  // namespace tapline::cuda::unrolled
