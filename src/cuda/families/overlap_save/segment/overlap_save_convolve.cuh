// What kernels of segments have in common: from samples in shared memory to outputs in registers.
#pragma once

#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/primitives/segment.cuh"

namespace tapline::cuda::overlap_save {

/// Point c + t of a segment of samples S, c a constant, t < Division::kSpan; sample_at(offset): sample t + offset. What the outputs
/// do not read is zero, whatever lies there: their bits depend on what they may read only.
template <class S, int kWarps, class T, class SampleAt>
__device__ __forceinline__ void read_point(const Segments& g, int c, int t, T& x, T& y, const SampleAt& sample_at) {
    constexpr bool kComplex = kIsComplexElement<S>;
    constexpr int kM = kPoints * kWarps;
    constexpr bool kTurned = kWarps == 2 && !kComplex;  // rows of the second warp, by half of its points
    constexpr int kHalfTurn = kPoints / 2;
    constexpr int kLast = kM - Division<kWarps, kComplex>::kSpan;
    if constexpr (kComplex) {
        const S point = sample_at(c);
        x = point.x;
        y = point.y;
    } else {
        x = Element<S>::widen(sample_at(c));
        y = Element<S>::widen(sample_at(c + kM));
    }
    if ((c == 0 || (kTurned && c == kHalfTurn)) && c + t < g.skip) {
        x = 0;
        y = kComplex ? 0 : y;
    }
    if ((c == kLast || (kTurned && c == kLast - kHalfTurn)) && c + t + (kComplex ? 0 : kM) >= g.used) {
        x = kComplex ? 0 : x;
        y = 0;
    }
}

/// The same of samples that lie side by side.
template <class S, int kWarps>
struct SegmentPoints {
    const S* samples;
    const Segments& g;

    template <class T>
    __device__ __forceinline__ void operator()(int c, int t, T& x, T& y) const {
        read_point<S, kWarps>(g, c, t, x, y, [&](int offset) { return load_element(samples + offset + t); });
    }
};

/// What a warp reads besides its points: its twiddles, its part of the spectrum, its pairs.
template <class Point>
struct SegmentTables {
    const Point *twiddles, *spectrum, *pairs;
};

/// A warp's remainder of a segment times the spectrum's. Two rounds of the same code: times the twiddles and transformed; times the
/// spectrum and transformed back. `own`: where the warp exchanges its points. spectrum_comes(): called before the spectrum is read;
/// kPasses: it lies in `own`. exchanged(direction): called by all lanes once that place is free.
template <int kWarps, bool kComplex, class Shape, bool kPasses, class T, class Point, class Comes, class Exchanged>
__device__ __forceinline__ void convolve_points(T (&re)[32], T (&im)[32], Point* own, const SegmentTables<Point>& tables,
                                                int thread, const Comes& spectrum_comes, const Exchanged& exchanged) {
    constexpr bool kTwiddled = !kComplex || kWarps > 1;
    constexpr bool kCouples = Shape::kTwiddleTable && kInCouples<Point>;
    const int lane = thread % 32;
    const int warp = kWarps == 1 ? 0 : thread / 32;
#pragma unroll 1
    for (int direction = 0; direction < 2; ++direction) {
        if (direction == 1) { spectrum_comes(); }
        T x[32];
        T y[32];
#pragma unroll
        for (int i = 0; i < 32; ++i) {  // real and imaginary parts exchanged
            x[i] = im[i];
            y[i] = re[i];
        }
        // The registers' part of the twiddles is what lane 0 has in the table.
        const Point* const factors = direction == 0 ? tables.twiddles : tables.spectrum + (kCouples ? 2 : 1) * lane;
        // The first of a complex segment's warps has no twiddles.
        if (direction == 0 && (!kTwiddled || (kComplex && warp == 0))) {
            fft::first_step<32>(x, y);
        } else {
            multiply_and_step<kCouples, Shape::kFusedProducts>(x, y, factors);
        }
        if constexpr (kPasses) { __syncwarp(); }  // the spectrum has been read: its place is free
        Point both[2];
        const auto pair = [&](int i, T* c, T* t) {
            const int turn = kCouples ? fft::pair_turn(i) : 0;
            if constexpr (kCouples) {
                if (turn % 2 == 0) { load_two<true>(tables.pairs, turn, lane, both[0], both[1]); }
            } else {
                both[0] = tables.pairs[32 * i + lane];
            }
            *c = both[turn % 2].x;
            *t = both[turn % 2].y;
        };
        transform_warp<kCouples, 1>(x, y, own, lane, pair, [&] { exchanged(direction); });
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = x[i];
            im[i] = y[i];
        }
    }
}

/// The inverse of Division::take_apart, but for transform_back() of more than two warps; exchanged(): called by all threads once
/// `points` is free, of more than one warp.
template <int kWarps, bool kComplex, class Parts, class T, class Point, class Twiddle, class Exchanged>
__device__ __forceinline__ void bring_points_together(T (&re)[32], T (&im)[32], Point* points, const Twiddle& twiddle_back,
                                                      int thread, int in_block, const Exchanged& exchanged) {
    if constexpr (kWarps == 2) {
        Parts::put_together(re, im, points, thread, in_block, twiddle_back, exchanged);
    } else {
        constexpr bool kTwiddled = !kComplex || kWarps > 1;
        const int warp = kWarps == 1 ? 0 : thread / 32;
        if (kTwiddled && !(kComplex && warp == 0)) {
#pragma unroll
            for (int i = 0; i < 32; i += 2) {
                // Else the compiler loads them all at once and has no registers for that.
                if (kWarps == 4 && i % 8 == 0) { __syncwarp(); }
                twiddle_back.two(i, re, im);
            }
        }
        if constexpr (kWarps > 2) { Parts::bring_together(re, im, points, thread, in_block, exchanged); }
    }
}

}  // namespace tapline::cuda::overlap_save
