// Points of an image's tile in shared memory, and the part of its transforms that a warp does alone: 128 = 32 * 4 rows y = 4 j + r
// and 8 * 8 or 8 * 16 points x = kNear j + s of a row, whose frequencies are f + 32 p and q + 8 t.
#pragma once

#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/primitives/fft.cuh"
#include "cuda/primitives/image/image_arguments.cuh"

namespace tapline::cuda::image_fft_rung {

__device__ __forceinline__ void multiply(float& re, float& im, float2 by) {
    const float x = re;
    re = fmaf(x, by.x, -im * by.y);
    im = fmaf(x, by.y, im * by.x);
}

/// Where point kNear q + s of a row lies, in bytes from the tile's first: no bank conflicts, whether neighbouring lanes differ in
/// s, or in q and the row. An exclusive or with the inner_place() of a q or s that the compiler knows leads from 0 to it, and rows
/// that are 32 apart lie at a constant distance: at most one instruction an access.
template <int kNear>
__device__ __forceinline__ constexpr unsigned inner_place(int q, int s) {
    return static_cast<unsigned>(((q * (kNear + 1)) ^ s) * 8);
}
template <int kNear>
__device__ __forceinline__ unsigned place_of(int row, int q, int s) {
    const int flip = (kNear == 8 ? row : row / kLong) % 2 * 64;
    return static_cast<unsigned>(row * Shape<kNear>::kPoints * 8) + (static_cast<unsigned>(flip) ^ inner_place<kNear>(q, s));
}

/// The point 32 `rows` rows below the one at `place`.
template <int kNear>
__device__ __forceinline__ float2& point_at(char* tile, unsigned place, int rows) {
    if (kNear > 8 && rows % 2 != 0) { place ^= 64; }
    return *reinterpret_cast<float2*>(tile + place + rows * kLong * Shape<kNear>::kPoints * 8);
}

/// The points of rows 32 r, 32 r + 1, ... in a column.
template <int kNear>
class Column {
public:
    __device__ __forceinline__ Column(char* tile, int r, int column)
        : tile_(tile), place_(place_of<kNear>(r * kLong, column / kNear, column % kNear)) {}
    __device__ __forceinline__ float2& operator[](int i) const {
        const unsigned place = kNear == 8 && i % 2 != 0 ? place_ ^ 64 : place_;
        return *reinterpret_cast<float2*>(tile_ + place + i * Shape<kNear>::kPoints * 8);
    }

private:
    char* tile_;
    unsigned place_;
};

/// kCount pairs (c, t) in registers.
template <int kCount>
struct Pairs {
    float2 held[kCount];
    __device__ __forceinline__ explicit Pairs(const float2* from) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) { held[i] = __ldg(from + i); }
    }
    __device__ __forceinline__ void operator()(int i, float* c, float* t) const {
        *c = held[i].x;
        *t = held[i].y;
    }
};

/// x[i][k] = y[k][i]; no instruction, since all of them are registers.
template <int A, int B>
__device__ __forceinline__ void transpose(float (&x)[A][B], const float (&y)[B][A]) {
#pragma unroll
    for (int i = 0; i < A; ++i) {
#pragma unroll
        for (int k = 0; k < B; ++k) { x[i][k] = y[k][i]; }
    }
}

/// By the thread of (f, s): columns' transforms completed, r becomes p; rows' begun, j becomes q.
template <int kNear>
__device__ __forceinline__ void go_inward(char* tile, const float2* table, int f, int s) {
    using D = Shape<kNear>;
    const Pairs<kShort / 2> pairs(table + D::kPairsF + f * kShort / 2);
    const unsigned place = place_of<kNear>(f, 0, s);
    float re[kFar][kShort];
    float im[kFar][kShort];
#pragma unroll
    for (int j = 0; j < kFar; ++j) {
#pragma unroll
        for (int r = 0; r < kShort; ++r) {
            const float2 point = point_at<kNear>(tile, place ^ inner_place<kNear>(j, 0), r);
            re[j][r] = point.x;
            im[j][r] = point.y;
        }
    }
#pragma unroll
    for (int j = 0; j < kFar; ++j) { fft::transform_by<kShort>(re[j], im[j], pairs); }
    float x[kShort][kFar];
    float y[kShort][kFar];
    transpose(x, re);
    transpose(y, im);
    fft::for_each_index<0, kShort>([&](auto value) {
        constexpr int m = decltype(value)::value;
        fft::transform<kFar, 1, 2>(x[m], y[m]);
        fft::for_each_index<0, kFar>([&](auto inner) {
            constexpr int n = decltype(inner)::value;
            point_at<kNear>(tile, place ^ inner_place<kNear>(fft::reversed(n, 3), 0), fft::reversed(m, 2)) = {x[m][n], y[m][n]};
        });
    });
}

/// By the thread of (f, q) and, with 16 s, every other p: rows' transforms completed, s becomes t; times the mask's spectrum; back.
template <int kNear>
__device__ __forceinline__ void multiply_rows(char* tile, const float2* table, const float4* spectrum, int task) {
    using D = Shape<kNear>;
    constexpr int kSteps = fft::log2_of(kNear);
    constexpr int kApart = kNear / kFar;  // threads that share the rows of an f
    const int q = task % kFar;
    const int first = task / kFar % kApart;
    const int f = task / kNear;
    const unsigned place = place_of<kNear>(first * kLong + f, q, 0);
    const Pairs<kNear / 2> pairs(table + D::kPairsQ + q * kNear / 2);
#pragma unroll
    for (int u = 0; u < kShort / kApart; ++u) {
        float4 h[kNear / 2];
#pragma unroll
        for (int m = 0; m < kNear / 2; ++m) { h[m] = __ldg(spectrum + (u * kNear / 2 + m) * D::kTasks + task); }
        float re[kNear];
        float im[kNear];
#pragma unroll
        for (int s = 0; s < kNear; ++s) {
            const float2 point = point_at<kNear>(tile, place ^ inner_place<kNear>(0, s), u * kApart);
            re[s] = point.x;
            im[s] = point.y;
        }
        fft::transform_by<kNear>(re, im, pairs);
        float x[kNear];
        float y[kNear];
        fft::for_each_index<0, kNear>([&](auto value) {
            constexpr int m = decltype(value)::value;
            constexpr int t = fft::reversed(m, kSteps);
            x[t] = re[m];
            y[t] = im[m];
            multiply(x[t], y[t], m % 2 == 0 ? float2{h[m / 2].x, h[m / 2].y} : float2{h[m / 2].z, h[m / 2].w});
        });
        fft::transform<kNear>(y, x);
        fft::for_each_index<0, kNear>([&](auto value) {
            constexpr int m = decltype(value)::value;
            point_at<kNear>(tile, place ^ inner_place<kNear>(0, fft::reversed(m, kSteps)), u * kApart) = {x[m], y[m]};
        });
    }
}

/// By the thread of (f, s), the way back: q becomes j, p becomes r.
template <int kNear>
__device__ __forceinline__ void go_outward(char* tile, const float2* table, int f, int s) {
    using D = Shape<kNear>;
    const Pairs<kFar / 2> pairs(table + D::kPairsS + s * kFar / 2);
    const unsigned place = place_of<kNear>(f, 0, s);
    float re[kShort][kFar];
    float im[kShort][kFar];
#pragma unroll
    for (int p = 0; p < kShort; ++p) {
#pragma unroll
        for (int q = 0; q < kFar; ++q) {
            const float2 point = point_at<kNear>(tile, place ^ inner_place<kNear>(q, 0), p);
            re[p][q] = point.x;
            im[p][q] = point.y;
        }
    }
#pragma unroll
    for (int p = 0; p < kShort; ++p) { fft::transform_by<kFar>(im[p], re[p], pairs); }
    float x[kFar][kShort];
    float y[kFar][kShort];
    transpose(x, re);
    transpose(y, im);
    fft::for_each_index<0, kFar>([&](auto value) {
        constexpr int m = decltype(value)::value;
        fft::transform<kShort>(y[m], x[m]);
        fft::for_each_index<0, kShort>([&](auto inner) {
            constexpr int n = decltype(inner)::value;
            point_at<kNear>(tile, place ^ inner_place<kNear>(fft::reversed(m, 3), 0), fft::reversed(n, 2)) = {x[m][n], y[m][n]};
        });
    });
}

}  // namespace tapline::cuda::image_fft_rung
