// 22: a block, a transform: products of spectra instead of products of samples.
#pragma once

#include "lessons/block_fft.cuh"
#include "lessons/transform_lesson.hpp"

namespace tapline::cuda::block_transform {

inline constexpr Head kHead("22", "block_transform", "", R"(
Idea: A block transforms 2,048 samples, multiplies them by the filter's spectrum and transforms back. The product belongs to a
    signal that repeats after 2,048 samples, so the last k - 1 outputs are wrong; segments overlap by them.
Changed: An output no longer costs a product a tap but a share of two transforms, whatever the number of taps.
Requires: At most 1,537 taps; not for strict accuracy.
Limited by: Waiting: each transform is 11 steps with a barrier between them, every point passes through shared memory in each, and
    half of all numbers are zero, the imaginary parts of real samples.
)");

inline constexpr int kThreads = 256;
inline constexpr int kM = kSegmentSamples;  // points

/// Points in order times the spectrum, in bit-reversed order again for the way back: two points change places.
template <int kPoints>
static __device__ __forceinline__ void multiply_and_reverse(float2* x, const float2* spectrum) {
    for (int i = static_cast<int>(threadIdx.x); i < kPoints; i += kThreads) {
        const int j = bit_reversed<kPoints>(i);
        if (i > j) { continue; }
        const float2 at_i = product(x[i], spectrum[i]);
        const float2 at_j = product(x[j], spectrum[j]);
        x[j] = at_i;
        x[i] = at_j;
    }
}

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    __shared__ float2 x[kM];
    const auto* spectrum = static_cast<const float2*>(s.tables);
    const std::int64_t first = std::int64_t{blockIdx.x} * outputs_of(s.k);
    for (int i = static_cast<int>(threadIdx.x); i < kM; i += kThreads) {
        x[bit_reversed<kM>(i)] = {sample_or_zero(s.in, first + i - s.origin, s.n), 0};
    }
    transform_from_reversed<kM, kThreads>(x, 1);
    multiply_and_reverse<kM>(x, spectrum);
    transform_from_reversed<kM, kThreads>(x, -1);

    // Every output depends on every sample of the segment.
    const bool repair = !isfinite(x[0].x);
    for (int i = static_cast<int>(threadIdx.x); i < outputs_of(s.k) && first + i < s.m; i += kThreads) {
        s.out[first + i] = repair ? direct_sum(s, first + i) : x[i].x;
    }
}

inline Blocks blocks_for(const Problem& p) { return {.threads = kThreads, .outputs = outputs_of(p.x.k)}; }

inline constexpr SignalLesson lesson = transform_lesson(kHead, kernel, blocks_for, plain_spectrum);

}  // namespace tapline::cuda::block_transform
