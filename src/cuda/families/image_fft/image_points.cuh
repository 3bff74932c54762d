// Points of an image's tile in shared memory, and the part of its transforms that a warp does alone: 128 = 32 * 4 rows y = 4 j + r
// and 8 * 8 or 8 * 16 points x = kNear j + s of a row, whose frequencies are f + 32 p and q + 8 t.
#pragma once

#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/primitives/fft.cuh"
#include "cuda/primitives/image/image_arguments.cuh"

namespace tapline::cuda::image_fft_rung {

/// A number of points whose parts are T.
template <class T>
using PointOf = std::conditional_t<sizeof(T) == 4, float2, double2>;

template <class T>
__device__ __forceinline__ void multiply(T& re, T& im, PointOf<T> by) {
    const T x = re;
    re = fma(x, by.x, -im * by.y);
    im = fma(x, by.y, im * by.x);
}

/// Where point kNear q + s of a row lies, in bytes from the tile's first: no bank conflicts, whether neighbouring lanes differ in
/// s, or in q and the row. An exclusive or with the inner_place() of a q or s that the compiler knows leads from 0 to it, and rows
/// that are 32 apart lie at a constant distance: at most one instruction an access. `Point`: float2 or double2.
template <int kNear, class Point>
__device__ __forceinline__ constexpr unsigned inner_place(int q, int s) {
    return static_cast<unsigned>(((q * (kNear + 1)) ^ s) * static_cast<int>(sizeof(Point)));
}
template <class Point>
inline constexpr unsigned kFlip = 8 * sizeof(Point);
template <int kNear, class Point>
inline constexpr int kRowBytes = Shape<kNear>::kPoints* static_cast<int>(sizeof(Point));
template <int kNear, class Point>
__device__ __forceinline__ unsigned place_of(int row, int q, int s) {
    const unsigned flip = static_cast<unsigned>((kNear == 8 ? row : row / kLong) % 2) * kFlip<Point>;
    return static_cast<unsigned>(row * kRowBytes<kNear, Point>) + (flip ^ inner_place<kNear, Point>(q, s));
}

/// The point 32 `rows` rows below the one at `place`.
template <int kNear, class Point>
__device__ __forceinline__ Point& point_at(char* tile, unsigned place, int rows) {
    if (kNear > 8 && rows % 2 != 0) { place ^= kFlip<Point>; }
    return *reinterpret_cast<Point*>(tile + place + rows * kLong * kRowBytes<kNear, Point>);
}

/// The points of rows 32 r, 32 r + 1, ... in a column.
template <int kNear, class Point>
class Column {
public:
    __device__ __forceinline__ Column(char* tile, int r, int column)
        : tile_(tile), place_(place_of<kNear, Point>(r * kLong, column / kNear, column % kNear)) {}
    __device__ __forceinline__ Point& operator[](int i) const {
        const unsigned place = kNear == 8 && i % 2 != 0 ? place_ ^ kFlip<Point> : place_;
        return *reinterpret_cast<Point*>(tile_ + place + i * kRowBytes<kNear, Point>);
    }

private:
    char* tile_;
    unsigned place_;
};

/// kCount pairs (c, t) in registers.
template <int kCount, class Point>
struct Pairs {
    Point held[kCount];
    __device__ __forceinline__ explicit Pairs(const Point* from) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) { held[i] = __ldg(from + i); }
    }
    template <class T>
    __device__ __forceinline__ void operator()(int i, T* c, T* t) const {
        *c = held[i].x;
        *t = held[i].y;
    }
};

/// x[i][k] = y[k][i]; no instruction, since all of them are registers.
template <int A, int B, class T>
__device__ __forceinline__ void transpose(T (&x)[A][B], const T (&y)[B][A]) {
#pragma unroll
    for (int i = 0; i < A; ++i) {
#pragma unroll
        for (int k = 0; k < B; ++k) { x[i][k] = y[k][i]; }
    }
}

/// Two neighbouring points of a table, by loads of 16 bytes.
template <class Point>
struct TwoPoints {
    Point points[2];
    __device__ __forceinline__ void load(const Point* from) {
        if constexpr (sizeof(Point) == 8) {
            const float4 both = __ldg(reinterpret_cast<const float4*>(from));
            points[0] = {both.x, both.y};
            points[1] = {both.z, both.w};
        } else {
            points[0] = __ldg(from);
            points[1] = __ldg(from + 1);
        }
    }
};

/// By the thread of (f, s): columns' transforms completed, r becomes p; rows' begun, j becomes q.
template <int kNear, class Point>
__device__ __forceinline__ void go_inward(char* tile, const Point* table, int f, int s) {
    using D = Shape<kNear>;
    using T = decltype(Point::x);
    const Pairs<kShort / 2, Point> pairs(table + D::kPairsF + f * kShort / 2);
    const unsigned place = place_of<kNear, Point>(f, 0, s);
    T re[kFar][kShort];
    T im[kFar][kShort];
#pragma unroll
    for (int j = 0; j < kFar; ++j) {
#pragma unroll
        for (int r = 0; r < kShort; ++r) {
            const Point point = point_at<kNear, Point>(tile, place ^ inner_place<kNear, Point>(j, 0), r);
            re[j][r] = point.x;
            im[j][r] = point.y;
        }
    }
#pragma unroll
    for (int j = 0; j < kFar; ++j) { fft::transform_by<kShort>(re[j], im[j], pairs); }
    T x[kShort][kFar];
    T y[kShort][kFar];
    transpose(x, re);
    transpose(y, im);
    fft::for_each_index<0, kShort>([&](auto value) {
        constexpr int m = decltype(value)::value;
        fft::transform<kFar, 1, 2>(x[m], y[m]);
        fft::for_each_index<0, kFar>([&](auto inner) {
            constexpr int n = decltype(inner)::value;
            point_at<kNear, Point>(tile, place ^ inner_place<kNear, Point>(fft::reversed(n, 3), 0), fft::reversed(m, 2)) = {
                x[m][n], y[m][n]};
        });
    });
}

/// By the thread of (f, q) and, with 16 s, every other p: rows' transforms completed, s becomes t; times the mask's spectrum; back.
template <int kNear, class Point>
__device__ __forceinline__ void multiply_rows(char* tile, const Point* table, const Point* spectrum, int task) {
    using D = Shape<kNear>;
    using T = decltype(Point::x);
    constexpr int kSteps = fft::log2_of(kNear);
    constexpr int kApart = kNear / kFar;  // threads that share the rows of an f
    const int q = task % kFar;
    const int first = task / kFar % kApart;
    const int f = task / kNear;
    const unsigned place = place_of<kNear, Point>(first * kLong + f, q, 0);
    const Pairs<kNear / 2, Point> pairs(table + D::kPairsQ + q * kNear / 2);
#pragma unroll
    for (int u = 0; u < kShort / kApart; ++u) {
        TwoPoints<Point> h[kNear / 2];
#pragma unroll
        for (int m = 0; m < kNear / 2; ++m) { h[m].load(spectrum + 2 * ((u * kNear / 2 + m) * D::kTasks + task)); }
        T re[kNear];
        T im[kNear];
#pragma unroll
        for (int s = 0; s < kNear; ++s) {
            const Point point = point_at<kNear, Point>(tile, place ^ inner_place<kNear, Point>(0, s), u * kApart);
            re[s] = point.x;
            im[s] = point.y;
        }
        fft::transform_by<kNear>(re, im, pairs);
        T x[kNear];
        T y[kNear];
        fft::for_each_index<0, kNear>([&](auto value) {
            constexpr int m = decltype(value)::value;
            constexpr int t = fft::reversed(m, kSteps);
            x[t] = re[m];
            y[t] = im[m];
            multiply(x[t], y[t], h[m / 2].points[m % 2]);
        });
        fft::transform<kNear>(y, x);
        fft::for_each_index<0, kNear>([&](auto value) {
            constexpr int m = decltype(value)::value;
            point_at<kNear, Point>(tile, place ^ inner_place<kNear, Point>(0, fft::reversed(m, kSteps)), u * kApart) = {x[m], y[m]};
        });
    }
}

/// By the thread of (f, s), the way back: q becomes j, p becomes r.
template <int kNear, class Point>
__device__ __forceinline__ void go_outward(char* tile, const Point* table, int f, int s) {
    using D = Shape<kNear>;
    using T = decltype(Point::x);
    const Pairs<kFar / 2, Point> pairs(table + D::kPairsS + s * kFar / 2);
    const unsigned place = place_of<kNear, Point>(f, 0, s);
    T re[kShort][kFar];
    T im[kShort][kFar];
#pragma unroll
    for (int p = 0; p < kShort; ++p) {
#pragma unroll
        for (int q = 0; q < kFar; ++q) {
            const Point point = point_at<kNear, Point>(tile, place ^ inner_place<kNear, Point>(q, 0), p);
            re[p][q] = point.x;
            im[p][q] = point.y;
        }
    }
#pragma unroll
    for (int p = 0; p < kShort; ++p) { fft::transform_by<kFar>(im[p], re[p], pairs); }
    T x[kFar][kShort];
    T y[kFar][kShort];
    transpose(x, re);
    transpose(y, im);
    fft::for_each_index<0, kFar>([&](auto value) {
        constexpr int m = decltype(value)::value;
        fft::transform<kShort>(y[m], x[m]);
        fft::for_each_index<0, kShort>([&](auto inner) {
            constexpr int n = decltype(inner)::value;
            point_at<kNear, Point>(tile, place ^ inner_place<kNear, Point>(fft::reversed(m, 3), 0), fft::reversed(n, 2)) = {
                x[m][n], y[m][n]};
        });
    });
}

}  // namespace tapline::cuda::image_fft_rung
