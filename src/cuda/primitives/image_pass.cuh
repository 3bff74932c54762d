// The two passes of a separable mask, for up to kPassTaps taps each: a thread makes R outputs along a row or down a column from
// shared memory. The window slides over values in registers, all of it unrolled, so that taps are operands of a multiply-add. Taps
// are zero up to a multiple of four, and what those meet is there and defined.
#pragma once

#include <type_traits>

namespace tapline::cuda {

inline constexpr int kPassTaps = 32;

/// pass(n) with n a constant: the taps in fours, 1 to kPassTaps / 4. Code that ended early instead would keep all sums ready to
/// leave.
template <int n = 1, class Pass>
__device__ __forceinline__ void for_fours(int fours, const Pass& pass) {
    if constexpr (n == kPassTaps / 4) {
        pass(std::integral_constant<int, n>{});
    } else if (fours == n) {
        pass(std::integral_constant<int, n>{});
    } else {
        for_fours<n + 1>(fours, pass);
    }
}

/// sum[i] = the sum over t < 4 * kFours of taps[t] * p[i + t * kStep]; p lies on 16 bytes.
template <int kFours, int kStep, int R>
__device__ __forceinline__ void filter_row(float (&sum)[R], const float* p, const float (&taps)[kPassTaps]) {
    constexpr int kHeld = R + 4 * kStep;
    float x[kHeld];
#pragma unroll
    for (int n = 0; n < R + 4 * kFours * kStep; n += 4) {
        const float4 v = *reinterpret_cast<const float4*>(p + n);
        x[n % kHeld] = v.x;
        x[(n + 1) % kHeld] = v.y;
        x[(n + 2) % kHeld] = v.z;
        x[(n + 3) % kHeld] = v.w;
        if (n + 4 < R + 4 * kStep || (n + 4 - R) % (4 * kStep) != 0) { continue; }
        const int first = (n + 4 - R) / kStep - 4;  // all that four taps need is there
#pragma unroll
        for (int t = first; t < first + 4; ++t) {
#pragma unroll
            for (int i = 0; i < R; ++i) {
                const float value = x[(i + t * kStep) % kHeld];
                sum[i] = t == 0 ? value * taps[0] : fmaf(value, taps[t], sum[i]);
            }
        }
    }
}

/// sum[i] = the sum over t < 4 * kFours of taps[t] * row i + t of a ring of rows kPitch floats apart. p: the column in row 0, which
/// is a multiple of kSection rows from the ring's beginning; the ring has `ring` floats, a multiple of kSection rows, and ends at
/// `end`.
template <int kFours, int kPitch, int kSection, int R>
__device__ __forceinline__ void filter_column(float (&sum)[R], const float* p, const float* end, int ring,
                                              const float (&taps)[kPassTaps]) {
    constexpr int kHeld = R + 4;
    float x[kHeld];
#pragma unroll
    for (int n = 0; n < R - 1 + 4 * kFours; ++n) {
        if (n > 0 && n % kSection == 0) {
            p += kSection * kPitch;
            if (p >= end) { p -= ring; }
        }
        x[n % kHeld] = p[n % kSection * kPitch];
        const int first = n - (R - 1) - 3;
        if (first < 0 || first % 4 != 0) { continue; }
#pragma unroll
        for (int t = first; t < first + 4; ++t) {
#pragma unroll
            for (int i = 0; i < R; ++i) {
                const float value = x[(i + t) % kHeld];
                sum[i] = t == 0 ? value * taps[0] : fmaf(value, taps[t], sum[i]);
            }
        }
    }
}

}  // namespace tapline::cuda
