// 03: many blocks, each with the samples of the next one that it needs.
#pragma once

#include <algorithm>
#include <bit>

#include "lessons/lesson.hpp"

namespace tapline::cuda::block_boundary {

inline constexpr Head kHead("03", "block_boundary", "A2", R"(
Idea: Cut the signal into tiles of one block; a block also loads the k - 1 samples that follow its tile, its halo.
Changed: Any number of blocks; the halo; zeros past the end; bounds are those of the signal, since a tile has none of its own.
Requires: Mode leading; k <= 512, so that a block of at most 1024 threads has k - 1 left over to load the halo.
Limited by: Two loads from shared memory for each product, and a barrier before the first one.
)");

inline constexpr int kThreads = 256;
inline constexpr int kMaxThreads = 1024;
inline constexpr int kMinThreads = 8;
inline constexpr int kMaxTaps = kMaxThreads / 2;  // 2 k - 1 <= kMaxThreads

/// blockDim.x >= 2 k - 1. Threads 0 to k - 1 load the taps, threads k to 2 k - 2 the halo: nobody reads global memory three
/// times, as the first k - 1 would if they loaded the halo too.
static __global__ void __launch_bounds__(kMaxThreads) kernel(Signal s) {
    __shared__ float tile[kMaxThreads + kMaxTaps - 1];  // (blockDim.x + k - 1), from sample `first` on
    __shared__ float taps[kMaxTaps];                    // (k)
    const int i = static_cast<int>(threadIdx.x);
    const int block = static_cast<int>(blockDim.x);
    const int k = static_cast<int>(s.k);
    const std::int64_t first = std::int64_t{blockIdx.x} * block;
    tile[i] = sample_or_zero(s.in, first + i, s.n);
    if (i < k) {
        taps[i] = s.taps[i];
    } else if (i < 2 * k - 1) {
        tile[block + i - k] = sample_or_zero(s.in, first + block + i - k, s.n);
    }
    __syncthreads();
    if (first + i < s.n) {
        float sum = 0;
        for (int t = 0; t < k; ++t) {
            if (first + i + t < s.n) { sum += taps[t] * tile[i + t]; }
        }
        s.out[first + i] = sum;
    }
}

/// Short signals get short blocks, so that they have a block boundary too.
inline Blocks blocks_for(const Problem& p) {
    const unsigned least = p.x.n < kThreads ? kMinThreads : kThreads;
    return {.threads = std::max(least, std::bit_ceil(static_cast<unsigned>(2 * p.x.k - 1)))};
}

inline Refusal needs(const Problem& p) {
    if (p.x.origin != 0 || p.x.outputs != p.x.n) { return "needs mode leading: one output a sample, origin 0"; }
    if (p.x.k > kMaxTaps) {
        return "the spare threads of a block load the halo: takes at most 512 taps, not " + std::to_string(p.x.k);
    }
    return {};
}

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel = kernel, .blocks_for = blocks_for, .needs = needs, .seconds_per_product = 1e-12};

}  // namespace tapline::cuda::block_boundary
