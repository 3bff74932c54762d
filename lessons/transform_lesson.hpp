// What the lessons of overlap-save share: segments of 2,048 samples, their tables, outputs that are not finite.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "cuda/primitives/zero_boundary.cuh"
#include "lessons/lesson.hpp"

namespace tapline::cuda::transforms {

inline constexpr int kSamples = 2048;   // of a segment
inline constexpr int kMostTaps = 1537;  // so that at least a quarter of a segment is outputs

/// Outputs of a segment: its last k - 1 samples belong to windows that it does not hold whole.
__host__ __device__ inline int outputs_of(std::int64_t k) { return kSamples - static_cast<int>(k) + 1; }

/// What a transform would spread over a segment, a NaN or an overflow, stays where it belongs: the sum of one output, directly.
static __device__ __noinline__ float direct_sum(const Signal& s, std::int64_t o) {
    float sum = 0;
    for (std::int64_t t = 0; t < s.k; ++t) { sum += s.taps[t] * sample_or_zero(s.in, o + t - s.origin, s.n); }
    return sum;
}

/// A rung whose tables are these points, in float.
class TransformLesson : public SignalLesson {
public:
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const final;

protected:
    /// Of the filter's k taps, in correlation order.
    [[nodiscard]] virtual std::vector<std::complex<double>> points(const float* taps, int k) const = 0;
    [[nodiscard]] Refusal requires_more(const Problem& p) const final;
    /// As if a product cost this at 500 taps: none is made.
    [[nodiscard]] double seconds_per_product() const override { return 1e-14; }
};

/// Factors of products for transforms sum_n x[n] e^(2 pi i nj/M) of M points, at place j: of complex points, M = kSamples, and of
/// samples packed as x[n] + i x[n + M], M = kSamples / 2, that were multiplied by e^(i pi n/2M).
std::vector<std::complex<double>> plain_spectrum(const float* taps, int k);
std::vector<std::complex<double>> packed_spectrum(const float* taps, int k);
/// e^(i pi n/2M) for n < M = kSamples / 2.
std::vector<std::complex<double>> packed_twiddles();
/// What the warps of rungs 25 and 26 read: pairs, twiddles, spectrum (overlap_save_tables.hpp).
std::vector<std::complex<double>> warp_tables(const float* taps, int k);

}  // namespace tapline::cuda::transforms

namespace tapline::cuda {

const Rung& block_transform();
const Rung& packed_transform();
const Rung& unordered_transform();
const Rung& warp_transform();
const Rung& persistent_transform();

}  // namespace tapline::cuda
