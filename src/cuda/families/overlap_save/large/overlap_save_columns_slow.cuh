// Large segments by columns, slowly: samples or outputs that boundaries, strides, NaN, infinity or an overflow make slow.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_large.hpp"
#include "cuda/families/overlap_save/overlap_save_outputs.cuh"
#include "cuda/primitives/segment.cuh"

namespace tapline::cuda::overlap_save {

/// Whether no term can change it any more.
template <class X>
__device__ __forceinline__ bool is_nan(const X& x) {
    if constexpr (kIsComplexElement<X>) {
        return isnan(x.x) && isnan(x.y);
    } else {
        return isnan(x);
    }
}

/// The sum of output o of a row, directly, until it is not a number, which it then remains.
template <class S, class H>
__device__ __noinline__ typename Element<S>::Sum direct_sum_while_finite(const Arguments& a, std::int64_t row, std::int64_t o) {
    using Sum = typename Element<S>::Sum;
    constexpr std::int64_t kStretch = 256;
    const S* in = static_cast<const S*>(a.in) + row * a.in_row;
    const H* taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
    Sum sum{};
    for (std::int64_t first = 0; first < a.k; first += kStretch) {
        const std::int64_t last = min(first + kStretch, a.k);
        if (a.boundary == kZero) {
            multiply_add(sum, exact_sum<S, H>(a, in, taps, a.first + o, first, last), typename Element<S>::Real{1});
        } else {
#pragma unroll 1
            for (std::int64_t t = first; t < last; ++t) {
                multiply_add(sum, Element<S>::widen(sample(a, in, a.first + o - a.origin + t)), taps[t]);
            }
        }
        if (is_nan(sum)) { return sum; }
    }
    return sum;
}

template <class T>
__device__ __forceinline__ bool is_finite_sum(T x) {
    return fabs(x) <= Limits<T>::kMost;
}
__device__ __forceinline__ bool is_finite_sum(float2 x) { return is_finite_sum(x.x) && is_finite_sum(x.y); }
__device__ __forceinline__ bool is_finite_sum(double2 x) { return is_finite_sum(x.x) && is_finite_sum(x.y); }

/// `sum` with the terms of samples that are not finite, until it is not a number: of the row's samples [begin, end), the first of
/// which meets taps[0], counted from `position`. Samples of stretches without a mark are finite.
template <class S, class H, class Sum>
__device__ __noinline__ Sum with_marked_terms(const Arguments& a, const S* in, const H* taps, const unsigned* marks,
                                              std::int64_t position, int begin, int end, Sum sum) {
    for (int mark = begin / kMarkSamples; mark <= (end - 1) / kMarkSamples; ++mark) {
        const unsigned bits = __ldcg(marks + mark / 32) >> (mark % 32);
        if (bits == 0) {
            mark |= 31;
            continue;
        }
        if ((bits & 1) == 0) { continue; }
#pragma unroll 1
        for (int i = max(begin, mark * kMarkSamples); i < min(end, (mark + 1) * kMarkSamples); ++i) {
            const Sum x = Element<S>::widen(sample(a, in, position + i));
            if (is_finite_sum(x)) { continue; }
            multiply_add(sum, x, taps[i - begin]);
            if (is_nan(sum)) { return sum; }
        }
    }
    return sum;
}

/// `sum` of output `at` with the terms that were left out, until it is not a number; or all terms.
template <class H, class Tile>
__device__ __noinline__ typename Tile::Sum repaired(const Tile& tile, typename Tile::Sum sum, int segment, int row, int index,
                                                    int at, bool overflown) {
    using S = typename Tile::Sample;
    const Arguments& a = tile.a;
    const LargeSegments& g = tile.g;
    const std::int64_t first_output = static_cast<std::int64_t>(index) * g.outputs;
    if (overflown) { return direct_sum_while_finite<S, H>(a, row, first_output + at); }
    const S* const in = static_cast<const S*>(a.in) + row * a.in_row;
    const H* const taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
    const unsigned* const marks = g.state->marks[segment % (2 * g.order.slots)] + tile.first_mark();
    const int begin = at + g.skip;
    return with_marked_terms(a, in, taps, marks, a.in_first + g.start + first_output, begin, begin + static_cast<int>(a.k), sum);
}

/// A thread's points of its tile, one by one: zeros for samples that no output wants or that are not finite; these are noted.
template <class Tile>
__device__ __forceinline__ void read_one_by_one(const Tile& tile, typename Tile::Point* points, int segment) {
    using S = typename Tile::Sample;
    using Sum = typename Tile::Sum;
    const Arguments& a = tile.a;
    const LargeSegments& g = tile.g;
    const auto [row, index] = tile.index_of(segment);
    const S* const in = static_cast<const S*>(a.in) + row * a.in_row;
    const std::int64_t position = a.in_first + g.start + static_cast<std::int64_t>(index) * g.outputs;
    const int needed = g.used - (g.outputs - tile.wanted_of(index));
    const int noted = segment % (2 * g.order.slots);
    const auto read = [&](int at) {
        Sum x{};
        if (at >= g.skip && at < needed) { x = Element<S>::widen(sample(a, in, position + at)); }
        if (!is_finite_sum(x)) {
            g.state->bad[noted] = 1;
            atomicOr(&g.state->marks[noted][tile.first_mark() + at / kMarkSamples / 32], 1u << (at / kMarkSamples % 32));
            x = Sum{};
        }
        return x;
    };
#pragma unroll 1
    for (int i = 0; i < 32; ++i) {
        typename Tile::Point p;
        if constexpr (Tile::kComplex) {
            p = read(tile.point_of(i));
        } else {
            p.x = read(tile.point_of(i));
            p.y = read(tile.point_of(i) + Tile::kM);
        }
        points[tile.point_of(i)] = p;
    }
}

/// The outputs of its tile from the ring to wherever they lie. Points are read several at a time: one by one each would wait for
/// memory.
template <class Tile>
__device__ __noinline__ void store_apart(const Tile& tile, const typename Tile::Point* points, int segment) {
    using S = typename Tile::Sample;
    using T = typename Tile::T;
    constexpr int kAtOnce = 4;
    const Arguments& a = tile.a;
    const auto [row, index] = tile.index_of(segment);
    const int wanted = tile.wanted_of(index);
    S* const out = static_cast<S*>(a.out) + row * a.out_row + static_cast<std::int64_t>(index) * tile.g.outputs * a.out_sample;
    const T scale = static_cast<T>(a.plain_store != 0 ? 1 : a.scale);
    const T bias = static_cast<T>(a.plain_store != 0 ? 0 : a.bias);
    const T low = a.has_clamp && !Tile::kComplex ? static_cast<T>(a.low) : -INFINITY;
    const T high = a.has_clamp && !Tile::kComplex ? static_cast<T>(a.high) : INFINITY;
#pragma unroll 1
    for (int first = 0; first < 32; first += kAtOnce) {
        typename Tile::Point all[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) { all[i] = __ldcg(points + tile.point_of(first + i)); }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            const int at = tile.point_of(first + i);
            const T x = clamp_pass_nan(all[i].x * scale + bias, low, high);
            const T y = clamp_pass_nan(all[i].y * scale + (Tile::kComplex ? 0 : bias), low, high);
            if constexpr (Tile::kComplex) {
                if (at < wanted) { store_element(out + at * a.out_sample, S{x, y}); }
            } else {
                if (at < wanted) { out[at * a.out_sample] = Element<S>::narrow(x); }
                if (at + Tile::kM < wanted) { out[(at + Tile::kM) * a.out_sample] = Element<S>::narrow(y); }
            }
        }
    }
}

/// The outputs of its tile, one by one from the ring, with the terms of samples that are not finite or, after an overflow,
/// directly.
template <class Tile>
__device__ __forceinline__ void store_one_by_one(const Tile& tile, const typename Tile::Point* points, int segment, bool bad,
                                                 bool overflown) {
    using S = typename Tile::Sample;
    using T = typename Tile::T;
    const Arguments& a = tile.a;
    const LargeSegments& g = tile.g;
    if (!bad && !overflown && a.converts == 0) { return store_apart(tile, points, segment); }
    const auto [row, index] = tile.index_of(segment);
    const int wanted = tile.wanted_of(index);
    const std::int64_t first_output = static_cast<std::int64_t>(index) * g.outputs;
#pragma unroll 1
    for (int v = 0; v < (Tile::kComplex ? 32 : 64); ++v) {
        const int at = tile.point_of(v % 32) + (v < 32 ? 0 : Tile::kM);
        if (at >= wanted) { continue; }
        const typename Tile::Point p = points[tile.point_of(v % 32)];
        typename Tile::Sum sum;
        if constexpr (Tile::kComplex) {
            sum = p;
        } else {
            sum = v < 32 ? p.x : p.y;
        }
        if (bad || overflown) {
            if constexpr (Tile::kComplex) {
                sum = g.real_taps ? repaired<T>(tile, sum, segment, row, index, at, overflown)
                                  : repaired<S>(tile, sum, segment, row, index, at, overflown);
            } else {
                sum = repaired<T>(tile, sum, segment, row, index, at, overflown);
            }
        }
        store_anywhere(a, static_cast<S*>(a.out), row * a.out_row + (first_output + at) * a.out_sample, finish(a, sum));
    }
}

}  // namespace tapline::cuda::overlap_save
