// 17: few taps of many short rows: a thread makes a vector of outputs of whichever row it lies in.
#pragma once

#include "cuda/families/direct/direct_few_rows.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/lines/lines.cuh"
#include "cuda/primitives/sliding_window.cuh"

namespace tapline::cuda::few {

/// body(std::integral_constant<int, shift>), 0 <= shift < kEnd.
template <int kEnd, int kFirst = 0, class Body>
__device__ __forceinline__ void with_shift(int shift, const Body& body) {
    if constexpr (kFirst + 1 == kEnd) {
        body(std::integral_constant<int, kFirst>{});
    } else if (shift == kFirst) {
        body(std::integral_constant<int, kFirst>{});
    } else {
        with_shift<kEnd, kFirst + 1>(shift, body);
    }
}

/// What samples outside a row are, of floats: zeros, or the boundary's constant.
__device__ __forceinline__ float filling(const Arguments& a) {
    return a.boundary == kConstant ? static_cast<float>(a.constant_real) : 0.0F;
}

/// Outputs [o, o + V) of a row, those before `count`; 16 bytes at a time where they lie so.
__device__ __forceinline__ void store_vector(const Arguments& a, float* out, int o, int count, float (&sum)[4]) {
#pragma unroll
    for (float& each : sum) { each = finish(a, each); }
    if (o + 4 <= count && reinterpret_cast<std::uintptr_t>(out) % 16 == 0) {
        __stcs(reinterpret_cast<float4*>(out), make_float4(sum[0], sum[1], sum[2], sum[3]));
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (o + i < count) { __stcs(out + i, sum[i]); }
    }
}

/// Rows that all begin alike on 16 bytes: vectors of a window lie inside their row or outside it, but for its last one. kRowTaps:
/// each row's taps come from memory. Neighbouring lanes read overlapping vectors, which the L1 cache serves.
template <int kChunks, bool kRowTaps>
__global__ void __launch_bounds__(kRowThreads)
    direct_few_rows_kernel(const __grid_constant__ Arguments a, const __grid_constant__ TapsByValue<float> values,
                           int vectors_of_row) {
    constexpr int V = 4;
    const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x;
    const std::int64_t row = divide(number, vectors_of_row);
    if (row >= a.rows) { return; }
    const int o = static_cast<int>(number - row * vectors_of_row) * V;
    const int offset = static_cast<int>(a.first - a.origin - a.in_first);
    const int length = static_cast<int>(a.in_last - a.in_first);
    const int shift = offset & (V - 1);
    const int start = o + offset - shift;
    const float* const in = static_cast<const float*>(a.in) + row * a.in_row;
    const float fill = filling(a);
    float window[(kChunks + 2) * V];
#pragma unroll
    for (int v = 0; v < kChunks + 2; ++v) {
        const int first = start + v * V;
        float4 samples = make_float4(fill, fill, fill, fill);
        if (first >= 0 && first + V <= length) {
            samples = *reinterpret_cast<const float4*>(in + first);
        } else if (first < length && first + V > length) {
            // V = 4: at most three of the last one are there.
            if (first >= 0) { samples.x = in[first]; }
            if (first + 1 < length) { samples.y = in[first + 1]; }
            if (first + 2 < length) { samples.z = in[first + 2]; }
        }
        window[v * V] = samples.x;
        window[v * V + 1] = samples.y;
        window[v * V + 2] = samples.z;
        window[v * V + 3] = samples.w;
    }
    float own_taps[kChunks * V];
    if constexpr (kRowTaps) {
        const auto* const from = reinterpret_cast<const float*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
            float some[V];
            load_taps<V>(some, from + c * V);
#pragma unroll
            for (int j = 0; j < V; ++j) { own_taps[c * V + j] = some[j]; }
        }
    }
    const float* const taps = kRowTaps ? own_taps : values.value;
    const int k = static_cast<int>(a.k);
    float sum[V] = {};
    with_shift<V>(shift, [&](auto by) {
#pragma unroll
        for (int t = 0; t < kChunks * V; ++t) {
            if (t < (kChunks - 1) * V || t < k) {
#pragma unroll
                for (int i = 0; i < V; ++i) { sum[i] = fmaf(window[decltype(by)::value + i + t], taps[t], sum[i]); }
            }
        }
    });
    store_vector(a, static_cast<float*>(a.out) + row * a.out_row + o, o, static_cast<int>(a.count), sum);
}

/// Rows one after the other that begin anywhere between 16 bytes, with as many outputs as samples: vectors are those of all rows
/// together, and only in those near a row's ends is it asked what belongs to whom.
template <int kChunks>
__global__ void __launch_bounds__(kRowThreads)
    direct_few_line_kernel(const __grid_constant__ Arguments a, const __grid_constant__ TapsByValue<float> values, int /*unused*/) {
    constexpr int V = 4;
    const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x) * V;
    const std::int64_t all = a.rows * a.n;
    if (at >= all) { return; }
    const int n = static_cast<int>(a.n);
    const int o = static_cast<int>(at - divide(at, a.n) * a.n);
    const int offset = static_cast<int>(-a.origin);
    const int shift = offset & (V - 1);
    const float* const in = static_cast<const float*>(a.in);
    const float fill = filling(a);
    float window[(kChunks + 2) * V];
#pragma unroll
    for (int v = 0; v < kChunks + 2; ++v) {
        const std::int64_t first = at + (offset - shift + v * V);
        float4 samples = make_float4(fill, fill, fill, fill);
        if (first >= 0 && first + V <= all) {
            samples = *reinterpret_cast<const float4*>(in + first);
        } else if (first >= 0 && first < all) {
            samples.x = in[first];
            if (first + 1 < all) { samples.y = in[first + 1]; }
            if (first + 2 < all) { samples.z = in[first + 2]; }
        }
        window[v * V] = samples.x;
        window[v * V + 1] = samples.y;
        window[v * V + 2] = samples.z;
        window[v * V + 3] = samples.w;
    }
    const int k = static_cast<int>(a.k);
    const bool inside = o + offset >= 0 && o + V - 1 + offset + k - 1 < n && o + V <= n;
    float sum[V] = {};
    with_shift<V>(shift, [&](auto by) {
        constexpr int kShift = decltype(by)::value;
        if (inside) {
#pragma unroll
            for (int t = 0; t < kChunks * V; ++t) {
                if (t < (kChunks - 1) * V || t < k) {
#pragma unroll
                    for (int i = 0; i < V; ++i) { sum[i] = fmaf(window[kShift + i + t], values.value[t], sum[i]); }
                }
            }
            return;
        }
#pragma unroll
        for (int i = 0; i < V; ++i) {
            const int position = (o + i < n ? o + i : o + i - n) + offset;  // in the row that output i is one of
#pragma unroll
            for (int t = 0; t < kChunks * V; ++t) {
                if (t < (kChunks - 1) * V || t < k) {
                    const bool is_there = static_cast<unsigned>(position + t) < static_cast<unsigned>(n);
                    sum[i] = fmaf(is_there ? window[kShift + i + t] : fill, values.value[t], sum[i]);
                }
            }
        }
    });
    const int left = static_cast<int>(min(all - at, std::int64_t{V}));
    store_vector(a, static_cast<float*>(a.out) + at, 0, left, sum);
}

}  // namespace tapline::cuda::few
