// 23: half the points: real samples as complex ones.
#pragma once

#include "lessons/22_block_transform.cuh"

namespace tapline::cuda::packed_transform {

inline constexpr Head kHead("23", "packed_transform", "", R"(
Idea: 2,048 real samples are 1,024 complex points, x[n] + i x[n + 1024]: the remainder of the segment's polynomial modulo X^1024 -
    i, which determines it modulo X^2048 + 1. What wraps around only changes its sign, and is not used anyway.
Changed: Half the points: a twiddle e^(i pi n/2048) before the transform and after it turns X^1024 - i into X^1024 - 1, and no
    frequencies have to be separated.
Requires: At most 1,537 taps; not for strict accuracy.
Limited by: Still 10 steps with a barrier each way, and two passes that only bring points into another order.
)");

using block_transform::kThreads;
inline constexpr int kM = kSegmentSamples / 2;  // points

/// Point i of the segment from `first` on, times its twiddle.
static __device__ __forceinline__ float2 load_point(const Signal& s, std::int64_t first, int i, const float2* twiddles) {
    const float2 point{sample_or_zero(s.in, first + i - s.origin, s.n), sample_or_zero(s.in, first + i + kM - s.origin, s.n)};
    return product(point, twiddles[i]);
}

/// The segment's outputs, of which those from `first` + 1024 on are imaginary parts.
static __device__ __forceinline__ void store_outputs(const Signal& s, std::int64_t first, const float2* x, const float2* twiddles) {
    const bool repair = !isfinite(x[0].x) || !isfinite(x[0].y);
    for (int i = static_cast<int>(threadIdx.x); i < outputs_of(s.k) && first + i < s.m; i += kThreads) {
        const int n = i % kM;
        const float2 point = product(x[n], {twiddles[n].x, -twiddles[n].y});
        s.out[first + i] = repair ? direct_sum(s, first + i) : i < kM ? point.x : point.y;
    }
}

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    __shared__ float2 x[kM];
    const auto* spectrum = static_cast<const float2*>(s.tables);
    const float2* twiddles = spectrum + kM;
    const std::int64_t first = std::int64_t{blockIdx.x} * outputs_of(s.k);
    for (int i = static_cast<int>(threadIdx.x); i < kM; i += kThreads) {
        x[bit_reversed<kM>(i)] = load_point(s, first, i, twiddles);
    }
    transform_from_reversed<kM, kThreads>(x, 1);
    block_transform::multiply_and_reverse<kM>(x, spectrum);
    transform_from_reversed<kM, kThreads>(x, -1);
    store_outputs(s, first, x, twiddles);
}

inline constexpr SignalLesson lesson = transform_lesson(kHead, kernel, block_transform::blocks_for, packed_tables);

}  // namespace tapline::cuda::packed_transform
