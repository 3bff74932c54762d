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

/// What a warp reads besides its points: its twiddles and its part of the spectrum.
template <class Point>
struct SegmentTables {
    const Point *twiddles, *spectrum;
};

/// How points go from a warp's first transforms to its second ones: through `own`, its part of shared memory. By directions, there
/// and back: where the lane's column begins, where its row, its pairs of the second transform.
template <bool kCouples, class Point>
struct WarpExchange {
    Point* own;
    const Point* table;
    int lane;

    [[nodiscard]] __device__ __forceinline__ Point* column(int /*direction*/) const { return own + lane; }
    [[nodiscard]] __device__ __forceinline__ const Point* row(int /*direction*/) const {
        return own + (kCouples ? kExchangeRow<Point> : 33) * lane;
    }
    [[nodiscard]] __device__ __forceinline__ const Point* pairs(int /*direction*/) const {
        return table + (kCouples ? 2 : 1) * lane;
    }
    __device__ __forceinline__ void sync() const { __syncwarp(); }
};

/// A warp's remainder of a segment times the spectrum's. Two rounds of the same code: times the twiddles and transformed; times the
/// spectrum and transformed back. spectrum_comes(): called before the spectrum is read; kPasses: it may lie where points are
/// exchanged. exchanged(direction): called by all lanes once that place is free.
template <int kWarps, bool kComplex, class Shape, bool kPasses, class T, class Point, class Exchange, class Comes, class Exchanged>
__device__ __forceinline__ void convolve_points(T (&re)[32], T (&im)[32], const SegmentTables<Point>& tables, int warp, int lane,
                                                const Exchange& exchange, const Comes& spectrum_comes, const Exchanged& exchanged) {
    constexpr bool kTwiddled = !kComplex || kWarps > 1;
    constexpr bool kCouples = Shape::kTwiddleTable && kInCouples<Point>;
#pragma unroll 1
    for (int direction = 0; direction < 2; ++direction) {
        if (direction == 1) { spectrum_comes(); }
        T x[32];
        T y[32];
        exchange_parts(x, y, re, im);
        // The registers' part of the twiddles is what lane 0 has in the table.
        const Point* const factors = direction == 0 ? tables.twiddles : tables.spectrum + (kCouples ? 2 : 1) * lane;
        // The first of a complex segment's warps has no twiddles.
        if (direction == 0 && (!kTwiddled || (kComplex && warp == 0))) {
            fft::first_step<32>(x, y);
        } else {
            multiply_and_step<kCouples, Shape::kFusedProducts>(x, y, factors);
        }
        if constexpr (kPasses) { __syncwarp(); }  // the spectrum has been read: its place is free
        const Point* const pairs = exchange.pairs(direction);
        Point both[2];
        const auto pair = [&](int i, T* c, T* t) {
            const int turn = kCouples ? fft::pair_turn(i) : 0;
            if constexpr (kCouples) {
                if (turn % 2 == 0) { load_two<true>(pairs, turn, 0, both[0], both[1]); }
            } else {
                both[0] = pairs[32 * i];
            }
            *c = both[turn % 2].x;
            *t = both[turn % 2].y;
        };
        transform_between<kCouples, 1>(
            x, y, exchange.column(direction), exchange.row(direction), pair, [&] { exchange.sync(); },
            [&] { exchanged(direction); });
        copy_points(re, im, x, y);
    }
}

/// Points of more than one warp, or real samples, times their twiddles; `warp`: of the segment.
template <int kWarps, bool kComplex, class T, class Twiddle>
__device__ __forceinline__ void twiddle_points(T (&re)[32], T (&im)[32], const Twiddle& twiddle_back, int warp) {
    constexpr bool kTwiddled = !kComplex || kWarps > 1;
    if (kTwiddled && !(kComplex && warp == 0)) {
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
            // Else the compiler loads them all at once and has no registers for that.
            if (kWarps == 4 && i % 8 == 0) { __syncwarp(); }
            twiddle_back.two(i, re, im);
        }
    }
}

/// The inverse of Division::take_apart, but for transform_back() of more than two warps. `in_block`: the segment's number there, or
/// what its threads wait with. exchanged(): called by all threads once `points` is free, of more than one warp.
template <int kWarps, bool kComplex, class Parts, class T, class Point, class Twiddle, class Segment, class Exchanged>
__device__ __forceinline__ void bring_points_together(T (&re)[32], T (&im)[32], Point* points, const Twiddle& twiddle_back,
                                                      int thread, const Segment& in_block, const Exchanged& exchanged) {
    if constexpr (kWarps == 2) {
        Parts::put_together(re, im, points, thread, in_block, twiddle_back, exchanged);
    } else {
        twiddle_points<kWarps, kComplex>(re, im, twiddle_back, kWarps == 1 ? 0 : thread / 32);
        if constexpr (kWarps > 2) { Parts::bring_together(re, im, points, thread, in_block, exchanged); }
    }
}

}  // namespace tapline::cuda::overlap_save
