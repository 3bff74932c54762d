// x() outside the signal, and the sums that only an edge needs. Called where a tile leaves the signal, never inside it.
#pragma once

#include "cuda/primitives/arguments.hpp"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/elements.cuh"

namespace tapline::cuda {

/// The sample that x(position) reads: an index in [0, n), or -1 for the zero and constant boundaries. As
/// core::boundary_index; formulas: scipy.ndimage's modes.
__device__ __noinline__ inline std::int64_t boundary_index(Boundary boundary, std::int64_t position, std::int64_t n) {
    if (position >= 0 && position < n) { return position; }
    if (boundary <= kConstant) { return -1; }
    if (boundary == kNearest || (boundary == kMirror && n == 1)) { return position < 0 ? 0 : n - 1; }
    // Of kReflect 2n: a b c c b a; of kMirror 2n - 2: a b c b.
    const std::int64_t period = boundary == kWrap ? n : 2 * n - (boundary == kMirror ? 2 : 0);
    std::int64_t i = position % period;
    i += i < 0 ? period : 0;
    return i < n ? i : (boundary == kMirror ? period : period - 1) - i;
}

/// The same, inline and without a division inside and up to a signal's length outside: for loops that often leave the signal. Where
/// they seldom do, its registers cost more than the call.
__device__ __forceinline__ std::int64_t near_boundary_index(Boundary boundary, std::int64_t position, std::int64_t n) {
    if (position >= 0 && position < n) { return position; }
    if (boundary <= kConstant) { return -1; }
    const bool before = position < 0;
    std::int64_t index = before ? 0 : n - 1;  // nearest
    if (boundary == kReflect) { index = before ? -1 - position : 2 * n - 1 - position; }
    if (boundary == kMirror) { index = before ? -position : 2 * n - 2 - position; }
    if (boundary == kWrap) { index = before ? position + n : position - n; }
    return index >= 0 && index < n ? index : boundary_index(boundary, position, n);
}

template <class S>
__device__ S boundary_constant(const Arguments& a) {
    if constexpr (kIsComplexElement<S>) {
        using R = typename Element<S>::Real;
        return S{static_cast<R>(a.constant_real), static_cast<R>(a.constant_imag)};
    } else if constexpr (sizeof(S) == 8) {
        return a.constant_real;
    } else if constexpr (sizeof(S) == 2) {
        if constexpr (std::is_same_v<S, __half>) {
            return __double2half(a.constant_real);
        } else {
            return __double2bfloat16(a.constant_real);
        }
    } else {
        return static_cast<S>(a.constant_real);
    }
}

/// x(position) of one row where that is not in the piece; `row` is the address of sample in_first.
template <class S>
__device__ __noinline__ S sample_outside(const Arguments& a, const S* row, std::int64_t position) {
    if (a.boundary == kZero) { return S{}; }
    if (a.boundary == kConstant) { return boundary_constant<S>(a); }
    position = boundary_index(a.boundary, position, a.n);
    if (position < a.in_first || position >= a.in_last) { return S{}; }  // nobody asked for an output that needs it
    return load_element(row + (position - a.in_first) * a.in_sample);
}

/// x(position) of one row.
template <class S>
__device__ S sample(const Arguments& a, const S* row, std::int64_t position) {
    if (position < a.in_first || position >= a.in_last) { return sample_outside(a, row, position); }
    return load_element(row + (position - a.in_first) * a.in_sample);
}

/// window[i] = x(in_first + start + i), 0 <= i < size, by so many lanes, a warp or several, wherever that lies. Loads of the piece
/// go out eight at a time: one at a time a warp at an edge would wait for each. kAsync: words are copied asynchronously, all at
/// once; the caller waits.
template <class S, bool kAsync = false>
__device__ __noinline__ void fill_at_edge(const Arguments& a, S* window, const S* row, std::int64_t start, int size, int lane,
                                          int lanes = 32) {
    const std::int64_t length = a.in_last - a.in_first;
    const int begin = static_cast<int>(min(max(-start, std::int64_t{0}), static_cast<std::int64_t>(size)));
    const int end = static_cast<int>(min(max(length - start, static_cast<std::int64_t>(begin)), static_cast<std::int64_t>(size)));
    if constexpr (kAsync && sizeof(S) == 4) {
        for (int w = begin + lane; w < end; w += lanes) { copy_4_async(window + w, row + (start + w) * a.in_sample); }
    } else {
        constexpr int kBatch = sizeof(S) > 8 ? 4 : 8;
        for (int base = begin; base < end; base += lanes * kBatch) {
            S held[kBatch];
#pragma unroll
            for (int u = 0; u < kBatch; ++u) {
                const int w = base + lanes * u + lane;
                if (w < end) { held[u] = load_element(row + (start + w) * a.in_sample); }
            }
#pragma unroll
            for (int u = 0; u < kBatch; ++u) {
                const int w = base + lanes * u + lane;
                if (w < end) { window[w] = held[u]; }
            }
        }
    }
    const int there = end - begin;
#pragma unroll 1
    for (int i = lane; i < size - there; i += lanes) {
        const int w = i < begin ? i : i + there;
        window[w] = a.boundary == kZero ? S{} : sample_outside(a, row, a.in_first + start + w);
    }
}

/// Vector v from `in` on, which is sample `first` of a row of `length`; zeros where it leaves the row. Vectors begin where the row
/// does: none lies across its beginning, one may lie across its end.
template <class S>
__device__ __forceinline__ uint4 vector_or_zeros(const S* in, std::int64_t first, std::int64_t length, int v) {
    constexpr int V = kPerVector<S>;
    const std::int64_t position = first + v * V;
    if (position >= 0 && position + V <= length) { return reinterpret_cast<const uint4*>(in)[v]; }
    union {
        uint4 whole;
        S parts[V];
    } vector;
    vector.whole = uint4{};
    if (position >= 0 && position < length) {
#pragma unroll
        for (int i = 0; i < V; ++i) {
            if (position + i < length) { vector.parts[i] = in[v * V + i]; }
        }
    }
    return vector.whole;
}

/// Of the output whose tap 0 meets sample `first` of a row, counted from sample in_first: the taps that meet a sample. At a zero
/// boundary the other terms are absent; a product with a zero would not be if the tap is infinite.
struct TapRange {
    std::int64_t begin, end;
};
__device__ __forceinline__ TapRange taps_met(const Arguments& a, std::int64_t first) {
    if (a.boundary != kZero) { return {0, a.k}; }
    const auto tap_at = [&](std::int64_t position) { return min(max(position - first, std::int64_t{0}), a.k); };
    return {tap_at(0), tap_at(a.in_last - a.in_first)};
}

/// The sum of output `o` under a zero boundary with the terms outside the signal absent: 0 * inf must not appear.
template <class S, class H>
__device__ __noinline__ typename Element<S>::Sum exact_sum(const Arguments& a, const S* row, const H* taps, std::int64_t o,
                                                           std::int64_t tap_first, std::int64_t tap_last) {
    const std::int64_t position = o - a.origin;  // the sample that tap 0 meets
    const std::int64_t end_of_signal = a.n < 0 ? a.in_last : a.n;
    const std::int64_t begin = max(tap_first, -position);
    const std::int64_t end = min(tap_last, end_of_signal - position);
    typename Element<S>::Sum sum{};
#pragma unroll 1
    for (std::int64_t t = begin; t < end; ++t) { multiply_add(sum, Element<S>::widen(sample(a, row, position + t)), taps[t]); }
    return sum;
}

}  // namespace tapline::cuda
