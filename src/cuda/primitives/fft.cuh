// Discrete Fourier transforms in registers, as polynomials taken apart: a polynomial of 2h coefficients modulo X^2h - e^(i phi) is
// the pair of its remainders modulo X^h - w and X^h + w, w = e^(i phi/2). Five such steps evaluate one of 32 coefficients at the 32
// roots of X^32 = e^(i phi): with phi = 0 the transform, with another phi the transform of coefficients that were multiplied by
// e^(i phi n/32) first, at no extra cost.
//
// A step's butterflies are a + w b and a - w b with w = c (1 + i t), t the tangent: two multiply-adds for (1 + i t) b, four for the
// rest. In step s there are 2^s polynomials, whose w differ by the factors e^(i pi b/2^s), b < 2^s; b and b + 2^(s-1) differ by i,
// which costs nothing, so 16 pairs (c, t) serve all 31 w.
//
// Compiled for the host too, where tests transform with it.
#pragma once

#include <cmath>
#include <numbers>
#include <type_traits>

#ifdef __CUDACC__
#define TAPLINE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TAPLINE_HOST_DEVICE inline
#endif

namespace tapline::cuda::fft {

#ifndef __CUDACC__
using std::fma;
#endif

/// The lowest `bits` bits of m in reverse order: value m of a transform of 2^bits points belongs to frequency reversed(m, bits).
TAPLINE_HOST_DEVICE constexpr int reversed(int m, int bits) {
    int r = 0;
    for (int i = 0; i < bits; ++i) { r |= ((m >> i) & 1) << (bits - 1 - i); }
    return r;
}

TAPLINE_HOST_DEVICE constexpr int log2_of(int n) {
    int bits = 0;
    while ((1 << bits) < n) { ++bits; }
    return bits;
}

/// sin and cos when the compiler runs: Taylor series, exact to double for |x| <= pi.
TAPLINE_HOST_DEVICE constexpr double sine(double x) {
    double term = x;
    double sum = x;
    for (int i = 1; i < 20; ++i) {
        term *= -x * x / ((2 * i) * (2 * i + 1));
        sum += term;
    }
    return sum;
}
TAPLINE_HOST_DEVICE constexpr double cosine(double x) {
    double term = 1;
    double sum = 1;
    for (int i = 1; i < 20; ++i) {
        term *= -x * x / ((2 * i - 1) * (2 * i));
        sum += term;
    }
    return sum;
}

/// (a, b) becomes (a + w b, a - w b), w = c (1 + i t), times i if kTurned.
template <bool kTurned, class T>
TAPLINE_HOST_DEVICE void butterfly(T& a_re, T& a_im, T& b_re, T& b_im, T c, T t) {
    const T re = fma(-t, b_im, b_re);
    const T im = fma(t, b_re, b_im);
    const T x = a_re;
    const T y = a_im;
    if constexpr (kTurned) {
        a_re = fma(-c, im, x);
        a_im = fma(c, re, y);
        b_re = fma(c, im, x);
        b_im = fma(-c, re, y);
    } else {
        a_re = fma(c, re, x);
        a_im = fma(c, im, y);
        b_re = fma(-c, re, x);
        b_im = fma(-c, im, y);
    }
}

/// The same with w = e^(i kNumerator pi/kDenominator), known to the compiler.
template <int kNumerator, int kDenominator, class T>
TAPLINE_HOST_DEVICE void butterfly_by(T& a_re, T& a_im, T& b_re, T& b_im) {
    constexpr bool kTurned = 2 * kNumerator >= kDenominator;
    constexpr double kAngle = std::numbers::pi * kNumerator / kDenominator - (kTurned ? std::numbers::pi / 2 : 0);
    if constexpr (kNumerator == 0 || 2 * kNumerator == kDenominator) {
        const T x = a_re;
        const T y = a_im;
        const T re = kTurned ? -b_im : b_re;
        const T im = kTurned ? b_re : b_im;
        a_re = x + re;
        a_im = y + im;
        b_re = x - re;
        b_im = y - im;
    } else {
        constexpr T kCosine = static_cast<T>(cosine(kAngle));
        constexpr T kTangent = static_cast<T>(sine(kAngle) / cosine(kAngle));
        butterfly<kTurned>(a_re, a_im, b_re, b_im, kCosine, kTangent);
    }
}

template <int kBegin, int kEnd, class Body>
TAPLINE_HOST_DEVICE void for_each_index(const Body& body) {
    if constexpr (kBegin < kEnd) {
        body(std::integral_constant<int, kBegin>{});
        for_each_index<kBegin + 1, kEnd>(body);
    }
}

/// Evaluates kPoints coefficients at the roots of X^kPoints = e^(i phi), phi = kPhi/kParts pi: value m at the root
/// e^(i (phi + 2 pi reversed(m))/kPoints).
template <int kPoints, int kPhi = 0, int kParts = 1, int kFirstStep = 0, class T>
TAPLINE_HOST_DEVICE void transform(T* re, T* im) {
    constexpr int kSteps = log2_of(kPoints);
    for_each_index<kFirstStep, kSteps>([&](auto step) {
        constexpr int s = decltype(step)::value;
        constexpr int h = kPoints >> (s + 1);
        for_each_index<0, (1 << s)>([&](auto block) {
            constexpr int m = decltype(block)::value;
            constexpr int kNumerator = kPhi + 2 * kParts * reversed(m, s);  // of the angle (phi + 2 pi b)/2^(s+1)
            for_each_index<2 * m * h, 2 * m * h + h>([&](auto index) {
                constexpr int j = decltype(index)::value;
                butterfly_by<kNumerator, (2 << s) * kParts>(re[j], im[j], re[j + h], im[j + h]);
            });
        });
    });
}

/// The first step of transform() alone, phi = 0.
template <int kPoints, class T>
TAPLINE_HOST_DEVICE void first_step(T* re, T* im) {
    for_each_index<0, kPoints / 2>([&](auto index) {
        constexpr int j = decltype(index)::value;
        butterfly_by<0, 1>(re[j], im[j], re[j + kPoints / 2], im[j + kPoints / 2]);
    });
}

/// Where the pair (c, t) of step s and b < max(1, 2^(s-1)) lies among the kPoints / 2 that a transform with any phi takes.
TAPLINE_HOST_DEVICE constexpr int pair_index(int step, int b) { return step == 0 ? 0 : (1 << (step - 1)) + b; }

/// The place of pair i in the order in which transform_by takes them, of at most 32 points.
TAPLINE_HOST_DEVICE constexpr int pair_turn(int i) {  // bits below the highest one in reverse order; a loop would not be a constant
    if (i < 4) { return i; }
    if (i < 8) { return 4 + (i % 2 * 2 + i / 2 % 2); }
    return 8 + (i % 2 * 4 + i / 2 % 2 * 2 + i / 4 % 2);
}

/// Its angle.
inline double pair_angle(double phi, int step, int b) { return (phi + 2 * std::numbers::pi * b) / (2 << step); }

/// transform() with any phi, or its first kSteps steps: pair(i, &c, &t) fetches the pair of pair_index i.
template <int kPoints, int kSteps = log2_of(kPoints), class T, class Pair>
TAPLINE_HOST_DEVICE void transform_by(T* re, T* im, const Pair& pair) {
    for_each_index<0, kSteps>([&](auto step) {
        constexpr int s = decltype(step)::value;
        constexpr int h = kPoints >> (s + 1);
        constexpr int kPairs = s == 0 ? 1 : 1 << (s - 1);
        for_each_index<0, kPairs>([&](auto block) {
            constexpr int m = 2 * decltype(block)::value;  // with m + 1, whose w is i times this one's
            T c;
            T t;
            pair(pair_index(s, reversed(m, s)), &c, &t);
            for_each_index<2 * m * h, 2 * m * h + h>([&](auto index) {
                constexpr int j = decltype(index)::value;
                butterfly<false>(re[j], im[j], re[j + h], im[j + h], c, t);
                if constexpr (s > 0) {
                    constexpr int i = j + 2 * h;
                    butterfly<true>(re[i], im[i], re[i + h], im[i + h], c, t);
                }
            });
        });
    });
}

}  // namespace tapline::cuda::fft
