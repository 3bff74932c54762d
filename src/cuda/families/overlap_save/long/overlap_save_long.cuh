// 35: filters of many millions of taps, by transforms whose parts are as large as the L2 cache holds.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_columns_slow.cuh"
#include "cuda/families/overlap_save/long/overlap_save_long.hpp"
#include "cuda/primitives/fft.cuh"
#include "cuda/primitives/turns.cuh"

namespace tapline::cuda::overlap_save {

/// A segment's M points are a polynomial modulo X^M - e^(i phi), phi = pi/2 if they are pairs of real samples, else 0. Its
/// remainders modulo X^m - e^(i (phi + 2 pi q) / kParts), m = M / kParts, with coefficient n turned by e^(i (phi + 2 pi q) n / M),
/// are parts modulo X^m - 1: cyclic convolutions, each for itself.
///
/// Turns of one thread, which has points n + m j, j < kParts, of the segment, or point n of every part.
template <class T, bool kPairs>
struct LongTurns {
    using Point = typename PointOf<T>::Type;

    Point of_eight[kParts / 8];  // of parts 0, 8, 16, 24
    Point of_one[8];             // of parts 1 to 7 beside part 0

    /// Powers by products: three sines instead of twelve, for a rounding or two.
    __device__ __forceinline__ LongTurns(int n, int part_bits) {
        const T whole = T{2} / static_cast<T>(1 << part_bits) / kParts;  // half turns of point 1 in part 1 beside part 0
        of_one[1] = half_turns(static_cast<T>(n) * whole);
#pragma unroll
        for (int i = 2; i < 8; ++i) {
            of_one[i] = of_one[i / 2];
            multiply(of_one[i].x, of_one[i].y, of_one[i - i / 2]);
        }
        const Point eighth = half_turns(static_cast<T>(n) * (8 * whole));
        of_eight[0] = kPairs ? half_turns(static_cast<T>(n) * (whole * T{0.25})) : Point{1, 0};
#pragma unroll
        for (int i = 1; i < kParts / 8; ++i) {
            of_eight[i] = of_eight[i - 1];
            multiply(of_eight[i].x, of_eight[i].y, eighth);
        }
    }
    [[nodiscard]] __device__ __forceinline__ Point of(int part) const {
        Point w = of_eight[part / 8];
        if (part % 8 != 0) { multiply(w.x, w.y, of_one[part % 8]); }
        return w;
    }
};

/// Where a part's points lie: the same for all threads, so that these need no address of their own.
template <class Point>
__device__ __forceinline__ Point* part_of(const LongSegment& g, int part) {
    return static_cast<Point*>(g.points) + (static_cast<std::int64_t>(part) << g.part_bits);
}

/// Whether all that a transform of 32 points gave is finite: one that is not makes all of it so.
template <class T>
__device__ __forceinline__ bool are_finite_points(const T* re, const T* im) {
    return fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost;
}

/// A thread's samples one by one, to where its points will be: zeros for those that no output reads or that are not finite, which
/// are noted.
template <class S, class T, bool kPairs>
__device__ __noinline__ void read_samples_slowly(const Arguments& a, const LongSegment& g, int n) {
    using Point = typename PointOf<T>::Type;
    const S* const in = static_cast<const S*>(a.in) + g.row * a.in_row;
    auto* const points = static_cast<Point*>(g.points) + n;
    const int halves = kParts << g.part_bits;
    const auto read = [&](int at) {
        typename Element<S>::Sum x{};
        if (at >= g.skip && at < g.used) { x = Element<S>::widen(sample(a, in, a.in_first + g.start + at)); }
        if (!is_finite_sum(x)) {
            g.state->bad = 1;
            atomicOr(&g.state->marks[at / kMarkSamples / 32], 1u << (at / kMarkSamples % 32));
            x = {};
        }
        return x;
    };
    const auto scale = static_cast<T>(g.scale);
#pragma unroll 1
    for (int j = 0; j < kParts; ++j) {
        const int at = n + (j << g.part_bits);
        Point p;
        if constexpr (kPairs) {
            p.x = scale * static_cast<T>(read(at));
            p.y = scale * static_cast<T>(read(at + halves));
        } else {
            const auto x = read(at);
            if constexpr (kIsComplexElement<S>) {
                p = Point{scale * static_cast<T>(x.x), scale * static_cast<T>(x.y)};
            } else {
                p = Point{scale * static_cast<T>(x), 0};
            }
        }
        points[static_cast<std::int64_t>(j) << g.part_bits] = p;
    }
}

/// From samples (kPairs: real ones, halves of the segment as real and imaginary parts; else complex, or real taps of such) to
/// parts.
template <class S, class T, bool kPairs>
__global__ void __launch_bounds__(kLongThreads, sizeof(T) == 4 ? 2 : 1)
    long_split_kernel(const __grid_constant__ Arguments a, const __grid_constant__ LongSegment g) {
    using Point = typename PointOf<T>::Type;
    if (g.again != 0 && g.state->overflown == 0) { return; }
    const int n = static_cast<int>(blockIdx.x) * kLongThreads + static_cast<int>(threadIdx.x);
    if (n >= 1 << g.part_bits) { return; }  // of the tests' shortest parts
    T re[kParts];
    T im[kParts];
    const std::int64_t there = a.in_last - a.in_first;
    const bool inside = g.start + g.skip >= 0 && g.start + g.used <= there;
    bool slow = g.of_taps == 0 && a.boundary != kZero && !inside;
    for (;;) {
        if (slow) {
            read_samples_slowly<S, T, kPairs>(a, g, n);
#pragma unroll
            for (int j = 0; j < kParts; ++j) {
                const Point p = part_of<Point>(g, j)[n];
                re[j] = p.x;
                im[j] = p.y;
            }
        } else {
            const int begin = static_cast<int>(max(std::int64_t{g.skip}, -g.start));
            const int end = static_cast<int>(min(std::int64_t{g.used}, there - g.start));
            const auto count = static_cast<unsigned>(max(end - begin, 0));
            const std::int64_t step = a.in_sample << g.part_bits;
            const S* const in = static_cast<const S*>(a.in) + g.row * a.in_row + (g.start + n) * a.in_sample;
            const auto read = [&](int j) {
                const int at = n + (j << g.part_bits);
                return static_cast<unsigned>(at - begin) < count ? load_element(in + j * step) : S{};
            };
#pragma unroll
            for (int j = 0; j < kParts; ++j) {
                if constexpr (kPairs) {
                    re[j] = static_cast<T>(Element<S>::widen(read(j)));
                    im[j] = static_cast<T>(Element<S>::widen(read(j + kParts)));
                } else if constexpr (kIsComplexElement<S>) {
                    const S x = read(j);
                    re[j] = static_cast<T>(x.x);
                    im[j] = static_cast<T>(x.y);
                } else {
                    re[j] = static_cast<T>(read(j));
                    im[j] = 0;
                }
            }
            if (g.scale != 1) {
                const auto scale = static_cast<T>(g.scale);
                const T sign = g.of_taps != 0 && g.conjugated == 0 && !kPairs ? -scale : scale;
#pragma unroll
                for (int j = 0; j < kParts; ++j) {
                    re[j] *= scale;
                    im[j] *= sign;
                }
            }
        }
        fft::transform_in_fours<kParts, kPairs ? 1 : 0, 2>(re, im);
        if (slow || g.of_taps != 0 || are_finite_points(re, im)) { break; }
        slow = true;  // once more without what is not finite
    }
    const LongTurns<T, kPairs> turns(n, g.part_bits);
    fft::for_each_index<0, kParts>([&](auto value) {
        constexpr int i = decltype(value)::value;
        constexpr int part = fft::reversed(i, kPartsBits);
        multiply(re[i], im[i], turns.of(part));
        __stcg(part_of<Point>(g, part) + n, Point{re[i], im[i]});
    });
}

/// A thread's outputs one by one from where its points were, with the terms of samples that are not finite; or directly.
template <class S, class H, bool kPairs>
__device__ __noinline__ void store_outputs_slowly(const Arguments& a, const LongSegment& g, int n, bool directly) {
    using Sum = typename Element<S>::Sum;
    using T = typename Element<S>::Real;
    using Point = typename PointOf<T>::Type;
    const S* const in = static_cast<const S*>(a.in) + g.row * a.in_row;
    const H* const taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + g.row * a.taps_row_bytes);
    const auto* const points = static_cast<const Point*>(g.points) + n;
    const int halves = kParts << g.part_bits;
#pragma unroll 1
    for (int v = 0; v < (kPairs ? 2 * kParts : kParts); ++v) {
        const int at = n + (v % kParts << g.part_bits) + (v < kParts ? 0 : halves);
        if (at >= g.wanted) { continue; }
        const Point p = points[static_cast<std::int64_t>(v % kParts) << g.part_bits];
        Sum sum;
        if constexpr (kPairs) {
            sum = v < kParts ? p.x : p.y;
        } else {
            sum = p;
        }
        if (directly) {
            sum = direct_sum_while_finite<S, H>(a, g.row, g.first_output + at);
        } else if (g.state->bad != 0) {
            const int begin = at + g.skip;
            sum = with_marked_terms(a, in, taps, g.state->marks, a.in_first + g.start, begin, begin + static_cast<int>(a.k), sum);
        }
        store_anywhere(a, static_cast<S*>(a.out), g.row * a.out_row + (g.first_output + at) * a.out_sample, finish(a, sum));
    }
}

/// From parts to outputs.
template <class S, bool kPairs>
__global__ void __launch_bounds__(kLongThreads, sizeof(typename Element<S>::Real) == 4 ? 2 : 1)
    long_join_kernel(const __grid_constant__ Arguments a, const __grid_constant__ LongSegment g) {
    using T = typename Element<S>::Real;
    using Point = typename PointOf<T>::Type;
    if (g.again != 0 && g.state->overflown == 0) { return; }
    const int n = static_cast<int>(blockIdx.x) * kLongThreads + static_cast<int>(threadIdx.x);
    if (n >= 1 << g.part_bits) { return; }
    T re[kParts];
    T im[kParts];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
        const Point p = __ldcg(part_of<Point>(g, part) + n);
        re[part] = p.x;
        im[part] = p.y;
    }
    {
        const LongTurns<T, kPairs> turns(n, g.part_bits);
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            const Point w = turns.of(part);
            multiply(re[part], im[part], Point{w.x, -w.y});
        }
    }
    fft::transform_in_fours<kParts>(im, re);
    T total = 0;  // of what overflows in the transform's last steps not all of it is infinite
#pragma unroll
    for (int i = 0; i < kParts; ++i) { total += fabs(re[i]) + fabs(im[i]); }
    const bool finite = total <= Limits<T>::kMost;
    if constexpr (kPairs) {
        fft::for_each_index<0, kParts>([&](auto value) {
            constexpr int i = decltype(value)::value;
            constexpr double kAngle = std::numbers::pi / 2 * fft::reversed(i, kPartsBits) / kParts;
            multiply(re[i], im[i], Point{static_cast<T>(fft::cosine(kAngle)), static_cast<T>(-fft::sine(kAngle))});
        });
    }
    if (g.again != 0) {
        const auto larger = static_cast<T>(1 / g.scale);
#pragma unroll
        for (int i = 0; i < kParts; ++i) {
            re[i] *= larger;
            im[i] *= larger;
        }
    }
    if (!finite && g.again == 0) {
        g.state->overflown = 1;  // all of the segment once more
        return;
    }
    if (!finite || g.state->bad != 0 || a.plain_layout == 0) {
        fft::for_each_index<0, kParts>([&](auto value) {
            constexpr int i = decltype(value)::value;
            part_of<Point>(g, fft::reversed(i, kPartsBits))[n] = Point{re[i], im[i]};
        });
        if constexpr (kIsComplexElement<S>) {
            if (g.real_taps == 0) { return store_outputs_slowly<S, S, kPairs>(a, g, n, !finite); }
        }
        return store_outputs_slowly<S, T, kPairs>(a, g, n, !finite);
    }
    if (a.plain_store == 0) {
        const T scale = static_cast<T>(a.scale);
        const T bias = static_cast<T>(a.bias);
        const T low = a.has_clamp && kPairs ? static_cast<T>(a.low) : -INFINITY;
        const T high = a.has_clamp && kPairs ? static_cast<T>(a.high) : INFINITY;
#pragma unroll
        for (int i = 0; i < kParts; ++i) {
            re[i] = clamp_pass_nan(re[i] * scale + bias, low, high);
            im[i] = clamp_pass_nan(im[i] * scale + (kPairs ? bias : 0), low, high);
        }
    }
    S* const out = static_cast<S*>(a.out) + g.row * a.out_row + g.first_output + n;
    const auto store = [&](int j, const S& x) {
        if (n + (j << g.part_bits) < g.wanted) { store_element(out + (static_cast<std::int64_t>(j) << g.part_bits), x); }
    };
    fft::for_each_index<0, kParts>([&](auto value) {
        constexpr int i = decltype(value)::value;
        constexpr int j = fft::reversed(i, kPartsBits);
        if constexpr (kPairs) {
            store(j, Element<S>::narrow(re[i]));
            store(j + kParts, Element<S>::narrow(im[i]));
        } else {
            store(j, S{re[i], im[i]});
        }
    });
}

}  // namespace tapline::cuda::overlap_save
