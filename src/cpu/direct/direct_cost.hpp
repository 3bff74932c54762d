// What direct summation costs, for the choice and for the division into tasks.
#pragma once

#include "cpu/targets.hpp"

namespace tapline::cpu {

/// Of one product of real f32 elements on one core, in the L1 cache (neon: as sse4, not measured); f64 takes twice as long. AVX2:
/// 64 taps on the machine that the transforms' times are from (overlap_save_shape.cpp); 17.5 on one of a higher clock.
inline constexpr TargetSeconds kDirectProductSeconds{
    .avx512 = 12.7e-12, .avx2 = 22e-12, .sse4 = 45e-12, .neon = 45e-12, .scalar = 210e-12};
/// Loading and storing an output counts as so many products: the time is that of k + 6 (3, 8, 16, 32 taps: 94, 180, 320, 480
/// against 114, 177, 278, 480 predicted).
inline constexpr double kProductsOfAnOutput = 6;

/// Seconds of one product of real elements of this size.
inline double direct_product_seconds(Target target, std::size_t real_bytes) {
    return kDirectProductSeconds.of(target) * (real_bytes == 8 ? 2 : 1);
}

}  // namespace tapline::cpu
