// Points of segments that a cluster's blocks share: a polynomial's remainders, each the work of a group of a block's warps.
#pragma once

#include "cuda/primitives/segment.cuh"

namespace tapline::cuda::overlap_save {

/// Tables of a group: fft::transform_by's pairs, then what turns points back (divisions_of).
template <int kWarps>
inline constexpr int kDivisionPoints = kWarps == 1 ? 0 : kWarps / 2 + kWarps;

/// A remainder of 1,024 kWarps points modulo X^1024 kWarps - e^(i alpha) lies in `points` (kWarps * kBufferPoints) of its group:
/// as Division, which knows its angle when it is compiled, takes a segment apart into remainders of the warps.
template <int kWarps>
struct Remainder {
    static constexpr int kBits = fft::log2_of(kWarps);
    static constexpr int kOwn = 32 / kWarps;  // transforms of a thread
    static constexpr int kSpan = 32 * kWarps;

    /// Point 32 i + lane of the warp's remainder to register i. `group`: of the block; `thread`: of the group.
    template <class T, class P>
    static __device__ __forceinline__ void take_apart(T* re, T* im, P* points, const P* tables, int group, int thread) {
        if constexpr (kWarps > 1) {
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
#pragma unroll
                for (int j = 0; j < kWarps; ++j) {
                    const P p = points[thread + kSpan * i + kPoints * j];
                    re[kWarps * i + j] = p.x;
                    im[kWarps * i + j] = p.y;
                }
                fft::transform_by<kWarps>(re + kWarps * i, im + kWarps * i, [&](int at, T* c, T* t) {
                    const P pair = tables[at];
                    *c = pair.x;
                    *t = pair.y;
                });
            }
            sync_segment<kWarps>(group);
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
#pragma unroll
                for (int j = 0; j < kWarps; ++j) {
                    points[j * kBufferPoints + thread + kSpan * i] = P{re[kWarps * i + j], im[kWarps * i + j]};
                }
            }
            sync_segment<kWarps>(group);
        }
        const P* const own = points + thread / 32 * kBufferPoints + thread % 32;
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = own[32 * i].x;
            im[i] = own[32 * i].y;
        }
        __syncwarp();
    }
    /// The inverse times kWarps: point n goes to points[n].
    template <class T, class P>
    static __device__ __forceinline__ void put_together(T* re, T* im, P* points, const P* tables, int group, int thread) {
        P* const own = points + thread / 32 * kBufferPoints + thread % 32;
#pragma unroll
        for (int i = 0; i < 32; ++i) { own[32 * i] = P{re[i], im[i]}; }
        if constexpr (kWarps > 1) {
            sync_segment<kWarps>(group);
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
                fft::for_each_index<0, kWarps>([&](auto value) {
                    constexpr int j = decltype(value)::value;
                    const P p = points[fft::reversed(j, kBits) * kBufferPoints + thread + kSpan * i];
                    re[kWarps * i + j] = p.x;
                    im[kWarps * i + j] = p.y;
                });
            }
            sync_segment<kWarps>(group);
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
                fft::transform<kWarps>(im + kWarps * i, re + kWarps * i);
                fft::for_each_index<0, kWarps>([&](auto value) {
                    constexpr int m = decltype(value)::value;
                    constexpr int j = fft::reversed(m, kBits);
                    if constexpr (j > 0) { multiply(re[kWarps * i + m], im[kWarps * i + m], tables[kWarps / 2 + j]); }
                    points[thread + kSpan * i + kPoints * j] = P{re[kWarps * i + m], im[kWarps * i + m]};
                });
            }
        }
    }
};

}  // namespace tapline::cuda::overlap_save
