// What the lessons of overlap-save share: segments of 2,048 samples, their tables, outputs that are not finite.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda {

inline constexpr int kSegmentSamples = 2048;
inline constexpr int kMostSegmentTaps = 1537;  // so that at least a quarter of a segment is outputs

/// Outputs of a segment: its last k - 1 samples belong to windows that it does not hold whole.
__host__ __device__ inline int outputs_of(std::int64_t k) { return kSegmentSamples - static_cast<int>(k) + 1; }

/// What a transform would spread over a segment, a NaN or an overflow, stays where it belongs: the sum of one output, directly.
static __device__ __noinline__ float direct_sum(const Signal& s, std::int64_t o) {
    float sum = 0;
    for (std::int64_t t = 0; t < s.k; ++t) { sum += s.taps[t] * sample_or_zero(s.in, o + t - s.origin, s.n); }
    return sum;
}

/// Few enough taps, and more than strict accuracy asks for.
Refusal segments_need(const Problem& p);

/// One of them, from what it does not share.
constexpr SignalLesson transform_lesson(const Head& head, SignalLesson::Kernel kernel, Blocks (*blocks_for)(const Problem&),
                                        Points (*points)(const float* taps, int k)) {
    return {.head = head,
            .kernel = kernel,
            .blocks_for = blocks_for,
            .points = points,
            .needs = segments_need,
            .is_local = false,
            .seconds_per_product = 1e-14};  // as if a product cost this at 500 taps: none is made
}

/// Factors of products for transforms sum_n x[n] e^(2 pi i nj/M) of M = kSegmentSamples complex points, at place j.
Points plain_spectrum(const float* taps, int k);
/// The same for samples packed as x[n] + i x[n + M], M = kSegmentSamples / 2, that were multiplied by e^(i pi n/2M); then those
/// twiddles, n < M.
Points packed_tables(const float* taps, int k);
/// What the warps of rungs 25 and 26 read: pairs, twiddles, spectrum (overlap_save_tables.hpp).
Points warp_tables(const float* taps, int k);

}  // namespace tapline::cuda
