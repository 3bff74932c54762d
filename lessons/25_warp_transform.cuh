// 25: a warp owns a segment.
#pragma once

#include "cuda/primitives/segment.cuh"
#include "lessons/transform_lesson.hpp"

namespace tapline::cuda::warp_transform {

inline constexpr Head kHead("25", "warp_transform", "", R"(
Idea: 1,024 points are 32 rows of 32: each lane of a warp transforms 32 points in its registers, all exchange them once through
    shared memory, and each transforms 32 again. The way back is the same with real and imaginary parts exchanged.
Changed: One exchange for ten steps, and no barrier of a block: other warps compute while one waits. Factors come from tables.
Requires: At most 1,537 taps; not for strict accuracy.
Limited by: The tables, 20 KB that each warp reads anew for 2,048 samples of 8 KB.
)");

inline constexpr int kWarps = 4;  // of a block; they have nothing to do with each other
using overlap_save::kBufferPoints;
using overlap_save::kPairs;
using overlap_save::kPoints;

/// Point 32 i + lane of the segment from `start` on, times nothing yet.
static __device__ __forceinline__ void load_points(const Signal& s, std::int64_t start, int lane, float* re, float* im) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        re[i] = sample_or_zero(s.in, start + 32 * i + lane, s.n);
        im[i] = sample_or_zero(s.in, start + 32 * i + lane + kPoints, s.n);
    }
}

/// The segment's points, all outputs, from its samples. Tables of rung.hpp's Signal, wherever they lie.
static __device__ __forceinline__ void convolve_points(float* re, float* im, const float2* pairs, const float2* twiddles,
                                                       const float2* spectrum, float2* exchange, int lane) {
    const auto pair = [&](int i, float* c, float* t) {
        const float2 p = pairs[32 * i + lane];
        *c = p.x;
        *t = p.y;
    };
    // Twice the same code: times the twiddles and transformed, times the spectrum and transformed back.
#pragma unroll 1
    for (int direction = 0; direction < 2; ++direction) {
        const float2* factors = direction == 0 ? twiddles : spectrum;
        float x[32];
        float y[32];
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            x[i] = im[i];
            y[i] = re[i];
            overlap_save::multiply(y[i], x[i], factors[32 * i + lane]);
        }
        overlap_save::transform_warp(x, y, exchange, lane, pair, [] { __syncwarp(); });
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = x[i];
            im[i] = y[i];
        }
    }
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        const float2 w = twiddles[32 * i + lane];
        overlap_save::multiply(re[i], im[i], float2{w.x, -w.y});
    }
}

/// Outputs from `first` on, as many as the segment has and the signal wants.
static __device__ __forceinline__ void store_points(const Signal& s, std::int64_t first, int lane, const float* re,
                                                    const float* im) {
    const int wanted = static_cast<int>(min(s.m - first, std::int64_t{outputs_of(s.k)}));
    const bool repair = __any_sync(0xffffffffu, !isfinite(re[0]) || !isfinite(im[0]));
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        const int at = 32 * i + lane;
        if (at < wanted && !repair) { s.out[first + at] = re[i]; }
        if (at + kPoints < wanted && !repair) { s.out[first + at + kPoints] = im[i]; }
    }
    for (int at = lane; repair && at < wanted; at += 32) { s.out[first + at] = direct_sum(s, first + at); }
}

static __global__ void __launch_bounds__(32 * kWarps) kernel(Signal s) {
    __shared__ float2 exchange[kWarps][kBufferPoints];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t first = (std::int64_t{blockIdx.x} * kWarps + warp) * outputs_of(s.k);
    if (first >= s.m) { return; }
    const auto* pairs = static_cast<const float2*>(s.tables);
    const float2* twiddles = pairs + kPairs;
    float re[32];
    float im[32];
    load_points(s, first - s.origin, lane, re, im);
    convolve_points(re, im, pairs, twiddles, twiddles + kPoints, exchange[warp], lane);
    store_points(s, first, lane, re, im);
}

inline Blocks blocks_for(const Problem& p) { return {.threads = 32 * kWarps, .outputs = kWarps * outputs_of(p.x.k)}; }

inline constexpr SignalLesson lesson = transform_lesson(kHead, kernel, blocks_for, warp_tables);

}  // namespace tapline::cuda::warp_transform
