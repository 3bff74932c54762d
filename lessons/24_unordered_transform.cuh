// 24: nothing is reordered.
#pragma once

#include <utility>

#include "cuda/primitives/fft.cuh"
#include "lessons/23_packed_transform.cuh"

namespace tapline::cuda::unordered_transform {

inline constexpr Head kHead("24", "unordered_transform", "", R"(
Idea: A transform that begins with the long butterflies leaves its frequencies in bit-reversed order; one that begins with the
    short ones takes them so. In between only products are made, for which any order does if the spectrum has the same.
Changed: Forward by decimation in frequency, back by decimation in time, and a spectrum stored as the frequencies lie.
Requires: At most 1,537 taps; not for strict accuracy.
Limited by: Barriers of 256 threads between steps in which each makes two butterflies, and sines computed on the way.
)");

using packed_transform::kM;
using packed_transform::kThreads;

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    __shared__ float2 x[kM];
    const auto* spectrum = static_cast<const float2*>(s.tables);
    const float2* twiddles = spectrum + kM;
    const std::int64_t first = std::int64_t{blockIdx.x} * outputs_of(s.k);
    for (int i = static_cast<int>(threadIdx.x); i < kM; i += kThreads) {
        x[i] = packed_transform::load_point(s, first, i, twiddles);
    }
    transform_to_reversed<kM, kThreads>(x, 1);
    for (int i = static_cast<int>(threadIdx.x); i < kM; i += kThreads) { x[i] = product(x[i], spectrum[i]); }
    transform_from_reversed<kM, kThreads>(x, -1);
    packed_transform::store_outputs(s, first, x, twiddles);
}

/// Those of rung 23, its spectrum as the frequencies lie.
inline Points points(const float* taps, int k) {
    Points all = packed_tables(taps, k);
    for (int i = 0; i < kM; ++i) {
        const int j = fft::reversed(i, 10);
        if (i < j) { std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(j)]); }
    }
    return all;
}

inline constexpr SignalLesson lesson = transform_lesson(kHead, kernel, block_transform::blocks_for, points);

}  // namespace tapline::cuda::unordered_transform
