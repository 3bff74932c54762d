// The two passes of a separable mask, for up to kPassTaps taps each: a thread makes R outputs along a row or down a column from
// shared memory. The window slides over values in registers and all of it is unrolled, so that taps are operands of a multiply-add;
// the number of taps is a place where the unrolled code ends.
#pragma once

#include "cuda/primitives/image/image_pass.hpp"

namespace tapline::cuda {

/// sum[i] = the sum over t < count of taps[t] * p[i + t * kStep]. p lies on 16 bytes and is readable up to a multiple of 4 taps;
/// count > 0.
template <int R, int kStep>
__device__ __forceinline__ void filter_row(float (&sum)[R], const float* p, const float (&taps)[kPassTaps], int count) {
    constexpr int kHeld = R + 4 * kStep;
    float x[kHeld];
    const auto load = [&](int n) {
        const float4 v = *reinterpret_cast<const float4*>(p + n);
        x[n % kHeld] = v.x;
        x[(n + 1) % kHeld] = v.y;
        x[(n + 2) % kHeld] = v.z;
        x[(n + 3) % kHeld] = v.w;
    };
    const auto tap = [&](int t) {
#pragma unroll
        for (int i = 0; i < R; ++i) {
            const float v = x[(i + t * kStep) % kHeld];
            sum[i] = t == 0 ? v * taps[0] : fmaf(v, taps[t], sum[i]);
        }
    };
#pragma unroll
    for (int n = 0; n < R; n += 4) { load(n); }
#pragma unroll
    for (int t = 0; t < kPassTaps; t += 4) {
        if (t > 0 && t >= count) { break; }
#pragma unroll
        for (int n = 0; n < 4 * kStep; n += 4) { load(R + t * kStep + n); }
        tap(t);
        if (t + 1 < count) { tap(t + 1); }
        if (t + 2 < count) { tap(t + 2); }
        if (t + 3 < count) { tap(t + 3); }
    }
}

/// sum[i] = the sum over t < count of taps[t] * row i + t of a ring of rows kPitch floats apart. p: the column in row 0, which is a
/// multiple of kSection rows from the ring's beginning; the ring has `ring` floats, a multiple of kSection rows, and ends at `end`.
template <int R, int kPitch, int kSection>
__device__ __forceinline__ void filter_column(float (&sum)[R], const float* p, const float* end, int ring,
                                              const float (&taps)[kPassTaps], int count) {
    constexpr int kHeld = R + 4;
    float x[kHeld];
    const auto load = [&](int n) {
        if (n > 0 && n % kSection == 0) {
            p += kSection * kPitch;
            if (p >= end) { p -= ring; }
        }
        x[n % kHeld] = p[n % kSection * kPitch];
    };
    const auto tap = [&](int t) {
#pragma unroll
        for (int i = 0; i < R; ++i) {
            const float v = x[(i + t) % kHeld];
            sum[i] = t == 0 ? v * taps[0] : fmaf(v, taps[t], sum[i]);
        }
    };
#pragma unroll
    for (int n = 0; n < R; ++n) { load(n); }
#pragma unroll
    for (int t = 0; t < kPassTaps; t += 4) {
        if (t > 0 && t >= count) { break; }
        if (t + 1 < count) { load(R + t); }
        if (t + 2 < count) { load(R + t + 1); }
        if (t + 3 < count) { load(R + t + 2); }
        tap(t);
        if (t + 1 < count) { tap(t + 1); }
        if (t + 2 < count) { tap(t + 2); }
        if (t + 3 < count) { tap(t + 3); }
        if (t + 4 < count) { load(R + t + 3); }
    }
}

}  // namespace tapline::cuda
