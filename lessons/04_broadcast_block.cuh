// 04: a block as one program that works on 2048 outputs at once.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::broadcast_block {

inline constexpr Head kHead("04", "broadcast_block", "B", R"(
Idea: Think in blocks, not threads: 2048 outputs take 4 taps at a time, broadcast over a (2048 x 4) window of loads that is
    multiplied and summed along the taps.
Changed: No shared memory: the cache serves the window's overlap. A thread makes 8 outputs, so a tap is loaded once for 8.
Requires: Mode valid: every window lies inside the signal, so nothing is tested.
Limited by: A load from the cache for each product: neighbouring outputs of a thread are 256 apart and share none of them.
)");

inline constexpr int kThreads = 256;
inline constexpr int kOutputsPerThread = 8;
inline constexpr int kOutputs = kThreads * kOutputsPerThread;  // 2048 a block
inline constexpr int kTapsAtOnce = 4;

/// Thread i makes the outputs i, i + 256, ... of its block, so that neighbouring threads read neighbouring samples.
static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    const std::int64_t first = std::int64_t{blockIdx.x} * kOutputs + threadIdx.x;
    const float* window[kOutputsPerThread];
    float sum[kOutputsPerThread];
#pragma unroll
    for (int r = 0; r < kOutputsPerThread; ++r) {
        // Past the last output the last window is summed again: its loads are allowed, and only the store is left out.
        window[r] = s.in + min(first + r * kThreads, s.m - 1);
        sum[r] = 0;
    }
    std::int64_t t = 0;
    for (; t + kTapsAtOnce <= s.k; t += kTapsAtOnce) {
        float taps[kTapsAtOnce];
#pragma unroll
        for (int j = 0; j < kTapsAtOnce; ++j) { taps[j] = s.taps[t + j]; }
#pragma unroll
        for (int r = 0; r < kOutputsPerThread; ++r) {
            float row = 0;
#pragma unroll
            for (int j = 0; j < kTapsAtOnce; ++j) { row += taps[j] * window[r][t + j]; }
            sum[r] += row;
        }
    }
    for (; t < s.k; ++t) {  // at most 3, one by one: a fourth tap of zero would still multiply a sample, and 0 * inf is NaN
        const float tap = s.taps[t];
#pragma unroll
        for (int r = 0; r < kOutputsPerThread; ++r) { sum[r] += tap * window[r][t]; }
    }
#pragma unroll
    for (int r = 0; r < kOutputsPerThread; ++r) {
        const std::int64_t o = first + r * kThreads;
        if (o < s.m) { s.out[o] = sum[r]; }
    }
}

/// What examples/solve launches.
inline void launch(const Signal& s, cudaStream_t stream) { kernel<<<grid_of(s.m, kOutputs), kThreads, 0, stream>>>(s); }

inline Refusal needs(const Problem& p) {
    if (p.x.origin == 0 && p.x.outputs == p.x.n - p.x.k + 1) { return {}; }
    return "needs mode valid: windows that lie inside the signal";
}

inline constexpr SignalLesson lesson{.head = kHead,
                                     .kernel = kernel,
                                     .blocks = {.threads = kThreads, .outputs = kOutputs},
                                     .needs = needs,
                                     .seconds_per_product = 3e-13};

}  // namespace tapline::cuda::broadcast_block
