// Sizes and places of segments that warps hold in registers (segment.cuh), for host code too.
#pragma once

#include <vector_types.h>

#include "cuda/primitives/fft.cuh"

namespace tapline::cuda::overlap_save {

inline constexpr int kPoints = 1024;           // that a warp transforms
inline constexpr int kBufferPoints = 32 * 33;  // one point more a row: rows and columns are free of bank conflicts
inline constexpr int kPairs = 16 * 32;         // (c, t) of every lane's second transform, fft.cuh
inline constexpr int kTwiddledWarps = 16;      // of a segment at most, whose twiddles are products

/// Points of 8 bytes are read two at a time where a lane reads many, from tables of couples: element i of lane p at
/// couple_place(i, p). An exchange's rows then have two points more, so that all begin on 16 bytes and the lanes still in other
/// banks.
template <class P>
inline constexpr bool kInCouples = sizeof(P) == 8;
template <class P>
inline constexpr int kExchangeRow = kInCouples<P> ? 34 : 33;
template <class P>
inline constexpr int kExchangePoints = 32 * kExchangeRow<P>;
TAPLINE_HOST_DEVICE constexpr int couple_place(int i, int lane) { return i / 2 * 64 + 2 * lane + i % 2; }

/// Complex points of a type of real numbers.
template <class T>
struct PointOf {
    using Type = float2;
};
template <>
struct PointOf<double> {
    using Type = double2;
};

}  // namespace tapline::cuda::overlap_save
