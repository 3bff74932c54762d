// The inner loop of the kernels for images: a thread makes R outputs that lie `step` elements apart in shared memory, down a column
// (step = pitch) or along a row (step = channels), from a window that slides over R values in registers.
//
//   sum[r] += taps[i] * p[(r + i) * step]
//
// Each value loaded feeds up to R products; a tap is one load for R products.
#pragma once

#include "cuda/primitives/elements.cuh"

namespace tapline::cuda {

/// Taps [0, count) of R sums; `taps` lies on 16 bytes and is readable up to a multiple of 4 taps.
template <class S, int R, class H>
__device__ __forceinline__ void add_strip(typename Element<S>::Sum (&sum)[R], const S* p, int step, const H* taps, int count) {
    typename Element<S>::Sum ring[R];
#pragma unroll
    for (int r = 0; r + 1 < R; ++r) { ring[r] = Element<S>::widen(p[r * step]); }
    p += (R - 1) * step;
    constexpr int kTaps = R % 4 == 0 ? 4 : 1;  // loaded at once
    const auto load = [](H(&held)[kTaps], const H* from) {
        if constexpr (kTaps == 4) {
            load_taps(held, from);
        } else {
            held[0] = *from;
        }
    };
    int i = 0;
#pragma unroll 1
    for (; i + R <= count; i += R) {
#pragma unroll
        for (int q = 0; q < R; q += kTaps) {
            H held[kTaps];
            load(held, taps + i + q);
#pragma unroll
            for (int u = 0; u < kTaps; ++u) {
                ring[(q + u + R - 1) % R] = Element<S>::widen(p[(q + u) * step]);
#pragma unroll
                for (int r = 0; r < R; ++r) { multiply_add(sum[r], ring[(q + u + r) % R], held[u]); }
            }
        }
        p += R * step;
    }
#pragma unroll
    for (int q = 0; q < R; q += kTaps) {
        if (i + q >= count) { break; }
        H held[kTaps];
        load(held, taps + i + q);
#pragma unroll
        for (int u = 0; u < kTaps; ++u) {
            if (i + q + u < count) {
                ring[(q + u + R - 1) % R] = Element<S>::widen(p[(q + u) * step]);
#pragma unroll
                for (int r = 0; r < R; ++r) { multiply_add(sum[r], ring[(q + u + r) % R], held[u]); }
            }
        }
    }
}

}  // namespace tapline::cuda
