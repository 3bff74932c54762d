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
#include <utility>

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

/// Where element i of 32 of a lane lies among 32 lanes' 1,024 if values that a transform of 32 points holds side by side, i and
/// i + 16, are read at once: value m of 32 in the transform's order is one of pair m / 2.
TAPLINE_HOST_DEVICE constexpr int halves_place(int i, int lane) { return reversed(i % 16, 4) * 64 + 2 * lane + i / 16; }

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

/// body(index) for the indices [kBegin, kEnd), numbers that the compiler knows. All from one function: where each called the next,
/// an index's code was copied once for every index before it.
template <int kBegin, class Body, int... kIndices>
TAPLINE_HOST_DEVICE void for_indices_of([[maybe_unused]] const Body& body, std::integer_sequence<int, kIndices...> /*indices*/) {
    (static_cast<void>(body(std::integral_constant<int, kBegin + kIndices>{})), ...);
}
template <int kBegin, int kEnd, class Body>
TAPLINE_HOST_DEVICE void for_each_index(const Body& body) {
    for_indices_of<kBegin>(body, std::make_integer_sequence<int, (kEnd > kBegin ? kEnd - kBegin : 0)>{});
}

/// Evaluates kPoints coefficients at the roots of X^kPoints = e^(i phi), phi = kPhi/kParts pi: value m at the root
/// e^(i (phi + 2 pi reversed(m))/kPoints).
template <int kPoints, int kPhi = 0, int kParts = 1, int kFirstStep = 0, int kSteps = log2_of(kPoints), class T>
TAPLINE_HOST_DEVICE void transform(T* re, T* im) {
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

/// The place of pair i in the order in which transform_by takes them, of at most 64 points; the pair that has place i, too.
TAPLINE_HOST_DEVICE constexpr int pair_turn(int i) {  // bits below the highest one in reverse order; a loop would not be a constant
    if (i < 4) { return i; }
    if (i < 8) { return 4 + (i % 2 * 2 + i / 2 % 2); }
    if (i < 16) { return 8 + (i % 2 * 4 + i / 2 % 2 * 2 + i / 4 % 2); }
    return 16 + (i % 2 * 8 + i / 2 % 2 * 4 + i / 4 % 2 * 2 + i / 8 % 2);
}

/// Its angle.
inline double pair_angle(double phi, int step, int b) { return (phi + 2 * std::numbers::pi * b) / (2 << step); }

/// transform() with any phi, or its steps from kFirstStep to kSteps: pair(i, &c, &t) fetches the pair of pair_index i.
template <int kPoints, int kSteps = log2_of(kPoints), int kFirstStep = 0, class T, class Pair>
TAPLINE_HOST_DEVICE void transform_by(T* re, T* im, const Pair& pair) {
    for_each_index<kFirstStep, kSteps>([&](auto step) {
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

// Two steps at once. Of a polynomial a + b X^h + c X^2h + d X^3h modulo X^4h - w^4 the remainders modulo X^h - w, + w, - i w and +
// i w are a + w^2 c +- (w b + w^3 d) and a - w^2 c +- i (w b - w^3 d). With w = c1 (1 + i t1) and w^3 = c3 (1 + i t3) those sums
// are c1 ((1 + i t1) b +- (c3/c1) (1 + i t3) d): 22 multiply-adds where two steps take 24.

/// What w, of angle below pi/2, brings to that; the square's pair (c, t) comes beside it.
template <class T>
struct Four {
    T c1, t1, t3, ratio;
};
TAPLINE_HOST_DEVICE constexpr Four<double> four_of(double angle) {
    return {cosine(angle), sine(angle) / cosine(angle), sine(3 * angle) / cosine(3 * angle), cosine(3 * angle) / cosine(angle)};
}

/// Of re and im at j, j + h, j + 2h, j + 3h. The square of w is c (1 + i t), times i if kTurned.
template <bool kTurned, class T>
TAPLINE_HOST_DEVICE void two_steps(T* re, T* im, int j, int h, T c, T t, const Four<T>& w) {
    butterfly<kTurned>(re[j], im[j], re[j + 2 * h], im[j + 2 * h], c, t);
    const T b_re = fma(-w.t1, im[j + h], re[j + h]);
    const T b_im = fma(w.t1, re[j + h], im[j + h]);
    const T d_re = fma(-w.t3, im[j + 3 * h], re[j + 3 * h]);
    const T d_im = fma(w.t3, re[j + 3 * h], im[j + 3 * h]);
    const T sum_re = fma(w.ratio, d_re, b_re);
    const T sum_im = fma(w.ratio, d_im, b_im);
    const T rest_re = fma(-w.ratio, d_re, b_re);
    const T rest_im = fma(-w.ratio, d_im, b_im);
    re[j + h] = fma(-w.c1, sum_re, re[j]);
    im[j + h] = fma(-w.c1, sum_im, im[j]);
    re[j] = fma(w.c1, sum_re, re[j]);
    im[j] = fma(w.c1, sum_im, im[j]);
    re[j + 3 * h] = fma(w.c1, rest_im, re[j + 2 * h]);
    im[j + 3 * h] = fma(-w.c1, rest_re, im[j + 2 * h]);
    re[j + 2 * h] = fma(-w.c1, rest_im, re[j + 2 * h]);
    im[j + 2 * h] = fma(w.c1, rest_re, im[j + 2 * h]);
}

/// transform() from step kFirstStep on, two steps at a time where that saves something.
template <int kPoints, int kPhi = 0, int kParts = 1, int kFirstStep = 0, class T>
TAPLINE_HOST_DEVICE void transform_in_fours(T* re, T* im) {
    constexpr int s = kFirstStep;
    if constexpr (s + 1 >= log2_of(kPoints)) {
        transform<kPoints, kPhi, kParts, s>(re, im);
    } else {
        constexpr int h = kPoints >> (s + 2);
        for_each_index<0, (1 << s)>([&](auto block) {
            constexpr int m = decltype(block)::value;
            constexpr int kNumerator = kPhi + 2 * kParts * reversed(m, s);  // of the angle of w, of pi/kWhole
            constexpr int kWhole = (4 << s) * kParts;
            for_each_index<4 * m * h, 4 * m * h + h>([&](auto index) {
                constexpr int j = decltype(index)::value;
                if constexpr (kNumerator == 0 || 4 * kNumerator == kWhole) {
                    for (int i = j; i < j + 2 * h; i += h) {
                        butterfly_by<2 * kNumerator, kWhole>(re[i], im[i], re[i + 2 * h], im[i + 2 * h]);
                    }
                    butterfly_by<kNumerator, kWhole>(re[j], im[j], re[j + h], im[j + h]);
                    butterfly_by<kNumerator + kWhole / 2, kWhole>(re[j + 2 * h], im[j + 2 * h], re[j + 3 * h], im[j + 3 * h]);
                } else {
                    constexpr double kAngle = std::numbers::pi * kNumerator / kWhole;
                    constexpr bool kTurned = 4 * kNumerator >= kWhole;
                    constexpr double kSquare = 2 * kAngle - (kTurned ? std::numbers::pi / 2 : 0);
                    constexpr Four<double> w = four_of(kAngle);
                    two_steps<kTurned, T>(
                        re, im, j, h, static_cast<T>(cosine(kSquare)), static_cast<T>(sine(kSquare) / cosine(kSquare)),
                        {static_cast<T>(w.c1), static_cast<T>(w.t1), static_cast<T>(w.t3), static_cast<T>(w.ratio)});
                }
            });
        });
        transform_in_fours<kPoints, kPhi, kParts, s + 2>(re, im);
    }
}

/// The first four steps of transform_by() in two turns: four(i) fetches two pairs (c, t) for i = 0 and 2, those of the squares, and
/// a w's Four for the others; kFours in all, as the tables below have them.
inline constexpr int kFours = 7;
/// Pairs of numbers that a transform of 32 points reads: those, and (c, t) of the last step.
inline constexpr int kFactorsOf32 = 2 * kFours + 8;
template <int kPoints, class T, class Fetch>
TAPLINE_HOST_DEVICE void four_steps_by(T* re, T* im, const Fetch& four) {
    const Four<T> squares = four(0);  // of the first turn, then of the second one's first two blocks
    const Four<T> w = four(1);
    constexpr int h = kPoints / 4;
    for_each_index<0, h>([&](auto index) { two_steps<false>(re, im, decltype(index)::value, h, squares.c1, squares.t1, w); });
    const auto block = [&](auto number, T c, T t, const Four<T>& w_of_block) {
        constexpr int m = decltype(number)::value;
        constexpr int kStep = kPoints / 16;
        for_each_index<m * h, m * h + kStep>(
            [&](auto index) { two_steps<m % 2 == 1>(re, im, decltype(index)::value, kStep, c, t, w_of_block); });
    };
    block(std::integral_constant<int, 0>{}, squares.t3, squares.ratio, four(2));
    block(std::integral_constant<int, 1>{}, squares.t3, squares.ratio, four(3));
    const Four<T> more = four(4);
    block(std::integral_constant<int, 2>{}, more.c1, more.t1, four(5));
    block(std::integral_constant<int, 3>{}, more.c1, more.t1, four(6));
}
/// Four i of those, phi being that of the transform.
inline Four<double> four_of_steps(double phi, int i) {
    const auto of = [](double angle) {
        return Four<double>{std::cos(angle), std::tan(angle), std::tan(3 * angle), std::cos(3 * angle) / std::cos(angle)};
    };
    const auto pair = [](double angle) { return Four<double>{std::cos(angle), std::tan(angle), 0, 0}; };
    const double turn = 2 * std::numbers::pi;
    if (i == 0) {
        const Four<double> first = pair(phi / 2);
        const Four<double> second = pair(phi / 8);
        return {first.c1, first.t1, second.c1, second.t1};
    }
    if (i == 1) { return of(phi / 4); }
    if (i == 4) { return pair((phi + turn) / 8); }
    const int block = i < 4 ? i - 2 : i - 3;
    return of((phi + turn * reversed(block, 2)) / 16);
}

}  // namespace tapline::cuda::fft
