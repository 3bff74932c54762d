// Few taps from kernel parameters over a window in a ring of registers, of samples that are widened or lie apart.
#pragma once

#include "cuda/families/direct/direct_few.hpp"
#include "cuda/primitives/lines/lines.cuh"
#include "cuda/primitives/sliding_window.cuh"

namespace tapline::cuda::few {

/// The 16 bytes of samples of a type from sample `first` of a row's piece on, by the boundary rule where that leaves it.
template <class Raw>
__device__ __noinline__ uint4 vector_at_edge(const Arguments& a, Dtype type, const Raw* row, std::int64_t first) {
    constexpr int V = 16 / static_cast<int>(sizeof(Raw));
    const std::int64_t length = a.in_last - a.in_first;
    const float constant[1] = {a.boundary == kConstant ? static_cast<float>(a.constant_real) : 0.0F};
    Raw outside[1];
    narrow_to_raw(type, constant, outside);
    union {
        uint4 whole;
        Raw parts[V];
    } vector;
#pragma unroll
    for (int i = 0; i < V; ++i) {
        std::int64_t at = first + i;
        if ((at < 0 || at >= length) && a.boundary > kConstant) {
            at = near_boundary_index(a.boundary, a.in_first + at, a.n) - a.in_first;
        }
        // Where the sample is not there nobody asked for an output that needs it.
        vector.parts[i] = at >= 0 && at < length ? row[at] : outside[0];
    }
    return vector.whole;
}

/// Tap t of output i: the same for all, or each of so many neighbouring outputs has its own, in turn.
__device__ __forceinline__ float tap_of(const TapsByValue<float>& taps, int t, int /*i*/) { return taps.value[t]; }
__device__ __forceinline__ float tap_of(const TapsByValue<float2>& taps, int t, int i) {
    return i % 2 == 0 ? taps.value[t].x : taps.value[t].y;
}
__device__ __forceinline__ float tap_of(const TapsByValue<float4>& taps, int t, int i) {
    const float4& of_four = taps.value[t];
    return i % 4 == 0 ? of_four.x : i % 4 == 1 ? of_four.y : i % 4 == 2 ? of_four.z : of_four.w;
}

/// sum[i] += tap t * sample i + t kApart of the window, t < k, kChunks vectors of V taps at most. vector(v): the window's v-th;
/// widen(to, vector): its V samples. H: as of tap_of().
template <int V, int kApart, int kChunks, class H, int O, class Vector, class Widen>
__device__ __forceinline__ void convolve_few(float (&sum)[O], const TapsByValue<H>& taps, int k, const Vector& vector,
                                             const Widen& widen) {
    constexpr int kFirst = O / V;
    constexpr int kRing = O + kApart * V;  // a vector of taps needs kApart more of samples
    float ring[kRing];
    for_turns<0, kFirst>([&](auto v) { widen(ring + decltype(v)::value * V, vector(decltype(v)::value)); });
    for_turns<0, kChunks>([&](auto chunk) {
        constexpr int c = decltype(chunk)::value;
        for_turns<0, kApart>([&](auto v) {
            constexpr int kVector = kFirst + c * kApart + decltype(v)::value;
            widen(ring + kVector * V % kRing, vector(kVector));
        });
        for_turns<0, V>([&](auto tap) {
            constexpr int t = c * V + decltype(tap)::value;
            if constexpr (t < kFewTaps) {
                if (c + 1 < kChunks || t < k) {
#pragma unroll
                    for (int i = 0; i < O; ++i) { sum[i] = fmaf(ring[(t * kApart + i) % kRing], tap_of(taps, t, i), sum[i]); }
                }
            }
        });
    });
}

}  // namespace tapline::cuda::few
