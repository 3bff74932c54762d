// 17: few taps of many short rows: a thread makes a vector of outputs of whichever row it lies in.
#pragma once

#include "cuda/families/direct/direct_few_rows.hpp"
#include "cuda/families/direct/rows/few_window.cuh"
#include "cuda/primitives/epilogue.cuh"

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

/// A thread's outputs, those before `left`; 16 bytes at a time where they lie so.
template <int kOutputs>
__device__ __forceinline__ void store_outputs(const Arguments& a, float* out, int left, float (&sum)[kOutputs]) {
#pragma unroll
    for (float& each : sum) { each = finish(a, each); }
    const bool aligned = reinterpret_cast<std::uintptr_t>(out) % 16 == 0;
#pragma unroll
    for (int i = 0; i < kOutputs; i += 4) {
        if (aligned && i + 4 <= left) {
            __stcs(reinterpret_cast<float4*>(out + i), make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]));
            continue;
        }
#pragma unroll
        for (int j = i; j < i + 4; ++j) {
            if (j < left) { __stcs(out + j, sum[j]); }
        }
    }
}

/// Vectors of a window from element `first` of `in` on, of which [0, end) exist and begin on 16 bytes; `fill` elsewhere.
template <int kVectors>
__device__ __forceinline__ void read_window(float (&window)[4 * kVectors], const float* in, std::int64_t first, std::int64_t end,
                                            float fill) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        const std::int64_t at = first + 4 * v;
        float4 samples = make_float4(fill, fill, fill, fill);
        if (at >= 0 && at + 4 <= end) {
            samples = *reinterpret_cast<const float4*>(in + at);
        } else if (at >= 0 && at < end) {  // at most three of the last one
            samples.x = in[at];
            if (at + 1 < end) { samples.y = in[at + 1]; }
            if (at + 2 < end) { samples.z = in[at + 2]; }
        }
        window[4 * v] = samples.x;
        window[4 * v + 1] = samples.y;
        window[4 * v + 2] = samples.z;
        window[4 * v + 3] = samples.w;
    }
}

/// sum[i] += tap t * sample_of(i, t), t < k, kChunks vectors of taps.
template <int kChunks, int kOutputs, class SampleOf>
__device__ __forceinline__ void add_products(float (&sum)[kOutputs], const float* taps, int k, const SampleOf& sample_of) {
#pragma unroll
    for (int t = 0; t < 4 * kChunks; ++t) {
        if (t < 4 * (kChunks - 1) || t < k) {
#pragma unroll
            for (int i = 0; i < kOutputs; ++i) { sum[i] = fmaf(sample_of(i, t), taps[t], sum[i]); }
        }
    }
}

/// Rows that all begin alike on 16 bytes: vectors of a window lie inside their row or outside it, but for its last one. A thread
/// makes kVectors of them. kRowTaps: each row's taps come from memory. Neighbouring lanes read overlapping vectors, which the L1
/// cache serves.
template <int kChunks, int kVectors, bool kRowTaps>
__global__ void __launch_bounds__(kRowThreads)
    direct_few_rows_kernel(const __grid_constant__ Arguments a, const __grid_constant__ TapsByValue<float> values) {
    constexpr int kOutputs = 4 * kVectors;
    const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x;
    const std::int64_t row = divide(number, a.tiles);
    if (row >= a.rows) { return; }
    const int o = static_cast<int>(number - row * a.tiles) * kOutputs;
    const int offset = static_cast<int>(a.first - a.origin - a.in_first);
    const int shift = offset & 3;
    float window[4 * (kChunks + kVectors + 1)];
    read_window<kChunks + kVectors + 1>(window, static_cast<const float*>(a.in) + row * a.in_row, o + offset - shift,
                                        a.in_last - a.in_first, filling(a));
    float own_taps[4 * kChunks];
    if constexpr (kRowTaps) {
        load_taps(own_taps, reinterpret_cast<const float*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes));
    }
    float sum[kOutputs] = {};
    with_shift<4>(shift, [&](auto by) {
        add_products<kChunks>(sum, kRowTaps ? own_taps : values.value, static_cast<int>(a.k),
                              [&](int i, int t) { return window[decltype(by)::value + i + t]; });
    });
    store_outputs(a, static_cast<float*>(a.out) + row * a.out_row + o, static_cast<int>(a.count) - o, sum);
}

/// Rows one after the other that begin anywhere between 16 bytes, with as many outputs as samples: vectors are those of all rows
/// together, and only in those near a row's ends is it asked what belongs to whom.
template <int kChunks, int kVectors>
__global__ void __launch_bounds__(kRowThreads)
    direct_few_line_kernel(const __grid_constant__ Arguments a, const __grid_constant__ TapsByValue<float> values) {
    constexpr int kOutputs = 4 * kVectors;
    const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kRowThreads + threadIdx.x) * kOutputs;
    const std::int64_t all = a.rows * a.n;
    if (at >= all) { return; }
    const int n = static_cast<int>(a.n);
    const int o = static_cast<int>(at - divide(at, a.n) * a.n);
    const int offset = static_cast<int>(-a.origin);
    const int shift = offset & 3;
    const float fill = filling(a);
    float window[4 * (kChunks + kVectors + 1)];
    read_window<kChunks + kVectors + 1>(window, static_cast<const float*>(a.in), at + (offset - shift), all, fill);
    const int k = static_cast<int>(a.k);
    const bool inside = o + offset >= 0 && o + kOutputs - 1 + offset + k - 1 < n && o + kOutputs <= n;
    float sum[kOutputs] = {};
    with_shift<4>(shift, [&](auto by) {
        constexpr int kShift = decltype(by)::value;
        if (inside) {
            add_products<kChunks>(sum, values.value, k, [&](int i, int t) { return window[kShift + i + t]; });
            return;
        }
        add_products<kChunks>(sum, values.value, k, [&](int i, int t) {
            const int position = (o + i < n ? o + i : o + i - n) + offset + t;  // in the row that output i is one of
            return static_cast<unsigned>(position) < static_cast<unsigned>(n) ? window[kShift + i + t] : fill;
        });
    });
    store_outputs(a, static_cast<float*>(a.out) + at, static_cast<int>(min(all - at, std::int64_t{kOutputs})), sum);
}

}  // namespace tapline::cuda::few
