// 11: a tile with a radius and zeros around the signal.
#pragma once

#include <algorithm>

#include "lessons/lesson.hpp"

namespace tapline::cuda::radius_and_padding {

inline constexpr Head kHead("11", "radius_and_padding", "D", R"(
Idea: A block copies its samples and a radius on either side to shared memory, zeros where the signal has none; the sum then needs
    no bounds test at all.
Changed: The signal is staged rather than the taps; the test moves from each product to each load; blocks of 256.
Requires: At most 2^31 - 1 blocks of 256 outputs; more than 4096 taps take turns on the tile.
Limited by: Two loads, a sample from shared memory and a tap from the cache, for each product.
)");

inline constexpr int kThreads = 256;
inline constexpr int kTapsAtOnce = 4096;

/// The tile of a block has 256 + k - 1 samples, for k = 2 radius + 1 taps with the origin in their middle 256 + 2 radius; an
/// even k has one sample more to the left than to the right. Any origin: it is `origin` samples to the left.
///
/// The sum is a correlation, taps[t] * x(o + t - radius). A convolution turns the taps over, taps[t] * x(o - t + radius); here
/// they arrive turned already, so that one kernel does both. A formula like taps[i + t] that runs t over the signal means
/// i = radius - o: it is this correlation with its outputs numbered backwards, not a convolution.
static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    extern __shared__ float tile[];  // (kThreads + min(k, kTapsAtOnce) - 1)
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t first = std::int64_t{blockIdx.x} * kThreads;
    float sum = 0;
    for (std::int64_t turn = 0; turn < s.k; turn += kTapsAtOnce) {
        const int count = static_cast<int>(min(std::int64_t{kTapsAtOnce}, s.k - turn));
        const float* taps = s.taps + turn;
        for (int i = thread; i < kThreads + count - 1; i += kThreads) {
            tile[i] = sample_or_zero(s.in, first - s.origin + turn + i, s.n);
        }
        __syncthreads();
        for (int t = 0; t < count; ++t) { sum += taps[t] * tile[thread + t]; }
        __syncthreads();  // before the next turn overwrites the tile
    }
    if (first + thread < s.m) { s.out[first + thread] = sum; }
}

inline Blocks blocks_for(const Problem& p) {
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(p.x.k, kTapsAtOnce));
    return {.threads = kThreads, .shared_bytes = (kThreads + count - 1) * sizeof(float)};  // 17 KB at most
}

inline constexpr SignalLesson lesson{.head = kHead, .kernel = kernel, .blocks_for = blocks_for, .seconds_per_product = 4e-13};

}  // namespace tapline::cuda::radius_and_padding
