// What direct summation costs, for the choice and for the division into tasks.
#pragma once

#include <bit>
#include <cstdint>

#include "cpu/direct/calls/simd_direct.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {

/// Of one product of real f32 elements on one core, in the L1 cache (neon: as sse4, not measured); f64 takes twice as long. 64
/// taps; AVX2: on the machine that most of the transforms' times are from (overlap_save_shape.cpp), 17.5 on one of a higher clock.
inline constexpr TargetSeconds kDirectProductSeconds{
    .avx512 = 17.5e-12, .avx2 = 22e-12, .sse4 = 45e-12, .neon = 45e-12, .scalar = 210e-12};
/// Loading and storing an output counts as so many products: the time is that of k + 6 (3, 8, 16, 32 taps: 94, 180, 320, 480
/// against 114, 177, 278, 480 predicted).
inline constexpr double kProductsOfAnOutput = 6;

/// What the products of an output cost, counted in products: k, or of equal taps what their sums take (simd_direct_equal.inl).
/// Of one group of taps sums are those of columns and lines alike, so that it does not matter which of the two a row goes through.
inline constexpr std::int64_t kFewestEqualTaps = kDirectGroup + 1;
/// 101 taps along 1,448 rows of 1,448 samples take 0.37 ns an output with AVX-512 and 1.0 ns with AVX2, samples in the caches.
inline constexpr double kProductsOfALevel = 4;
inline bool sums_by_doubling(std::int64_t k, bool equal) { return equal && k >= kFewestEqualTaps && k <= kMostEqualTaps; }
inline double direct_products(std::int64_t k, bool equal) {
    if (!sums_by_doubling(k, equal)) { return static_cast<double>(k); }
    const auto taps = static_cast<std::uint64_t>(k);
    return kProductsOfALevel * static_cast<double>(std::bit_width(taps) + std::popcount(taps));
}

/// Seconds of one product of real elements of this size.
inline double direct_product_seconds(Target target, std::size_t real_bytes) {
    return kDirectProductSeconds.of(target) * (real_bytes == 8 ? 2 : 1);
}

}  // namespace tapline::cpu
