// 14: tile and halo in shared memory.
#pragma once

#include <algorithm>
#include <bit>

#include "lessons/lesson.hpp"

namespace tapline::cuda::tiled {

inline constexpr Head kHead("14", "tiled", "E3", R"(
Idea: Load every sample that a block needs once, its own and a halo of k/2 on both sides, and sum from shared memory.
Changed: Samples from shared memory; no bounds test in the sum; taps from global memory again.
Requires: k/2 <= 1024: a thread loads its own sample and at most one of each halo.
Limited by: A barrier between loading and summing, and still two loads for each product: where the samples were in the first-level
    cache anyway, copying them to the same chip memory by hand buys little.
)");

inline constexpr int kThreads = 256;
inline constexpr int kMaxThreads = 1024;

/// The tile is centred on the samples under the middle tap, position o - origin + k/2 for output o: mode same has them at o
/// itself, another origin only moves the tile. blockDim.x >= k/2.
static __global__ void __launch_bounds__(kMaxThreads) kernel(Signal s) {
    extern __shared__ float tile[];  // (blockDim.x + 2 radius), halo, own, halo
    const int thread = static_cast<int>(threadIdx.x);
    const int block = static_cast<int>(blockDim.x);
    const int k = static_cast<int>(s.k);
    const int radius = k / 2;
    const std::int64_t o = std::int64_t{blockIdx.x} * block + thread;
    const std::int64_t middle = o - s.origin + radius;
    tile[radius + thread] = sample_or_zero(s.in, middle, s.n);
    if (thread < radius) {
        tile[thread] = sample_or_zero(s.in, middle - radius, s.n);
        tile[radius + block + thread] = sample_or_zero(s.in, middle + block, s.n);
    }
    __syncthreads();
    if (o >= s.m) { return; }
    float sum = 0;
    for (int t = 0; t < k; ++t) { sum += s.taps[t] * tile[thread + t]; }
    s.out[o] = clamp_pass_nan(sum, s.low, s.high);
}

inline Blocks blocks_for(const Problem& p) {
    const auto radius = static_cast<unsigned>(p.x.k / 2);
    const unsigned threads = std::max<unsigned>(kThreads, std::bit_ceil(radius));
    return {.threads = threads, .shared_bytes = (threads + 2 * radius) * sizeof(float)};  // 12 KB at most
}

inline Refusal needs(const Problem& p) {
    return p.x.k / 2 > kMaxThreads ? "a block of 1024 threads loads a halo of 1024: takes at most 2049 taps" : "";
}

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel = kernel, .blocks_for = blocks_for, .needs = needs, .clamps = true, .seconds_per_product = 3e-13};

}  // namespace tapline::cuda::tiled
