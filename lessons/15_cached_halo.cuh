// 15: the tile without its halo.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::cached_halo {

inline constexpr Head kHead("15", "cached_halo", "E4", R"(
Idea: A block's halo is its neighbour's tile, which has just been read: leave it to the cache and copy only the own samples.
Changed: The halo is read from global memory, through the cache; any k, since nobody has to load it first.
Requires: At most 2^31 - 1 blocks of 256 outputs.
Limited by: A choice between two memories for each product: a warp at a tile's edge goes both ways, and every lane pays the tests
    that were to be saved.
)");

inline constexpr int kThreads = 256;

/// The tile lies under the middle tap, as in rung 14.
static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    __shared__ float tile[kThreads];
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t o = std::int64_t{blockIdx.x} * kThreads + thread;
    const std::int64_t middle = o - s.origin + s.k / 2;
    const std::int64_t tile_first = middle - thread;
    tile[thread] = sample_or_zero(s.in, middle, s.n);
    __syncthreads();
    if (o >= s.m) { return; }
    float sum = 0;
    for (std::int64_t t = 0; t < s.k; ++t) {
        const std::int64_t position = o - s.origin + t;
        if (inside(position - tile_first, kThreads)) {
            sum += s.taps[t] * tile[position - tile_first];
        } else if (inside(position, s.n)) {
            sum += s.taps[t] * s.in[position];
        }
    }
    s.out[o] = clamp_pass_nan(sum, s.low, s.high);
}

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel = kernel, .blocks = {.threads = kThreads}, .clamps = true, .seconds_per_product = 4e-13};

}  // namespace tapline::cuda::cached_halo
