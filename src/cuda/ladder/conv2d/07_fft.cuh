// 07: large masks by transforms: a tile and its halo in shared memory, 32 points of it at a time in a thread's registers.
#pragma once

#include "cuda/ladder/conv2d/fft.hpp"
#include "cuda/primitives/fft.cuh"
#include "cuda/primitives/image_tile.cuh"

namespace tapline::cuda::image_fft_rung {

__device__ __forceinline__ void multiply(float& re, float& im, float2 by) {
    const float x = re;
    re = fmaf(x, by.x, -im * by.y);
    im = fmaf(x, by.y, im * by.x);
}

/// Where point kNear q + s of a row lies, in bytes from the tile's first: no bank conflicts, whether neighbouring lanes differ in s, or
/// in q and the row. An exclusive or with inner_place() of what the compiler knows gives the place of another q and s, and rows 32
/// apart lie kRowBytes apart (kNear = 16: and an exclusive or with 64): one instruction an access.
template <int kNear>
__device__ __forceinline__ constexpr unsigned inner_place(int q, int s) {
    return static_cast<unsigned>((q * (kNear + 1) ^ s) * 8);
}
template <int kNear>
__device__ __forceinline__ unsigned place_of(int row, int q, int s) {
    const int flip = (kNear == 8 ? row : row / kLong) % 2 * 64;
    return static_cast<unsigned>(row * Shape<kNear>::kPoints * 8) + (static_cast<unsigned>(flip) ^ inner_place<kNear>(q, s));
}

/// The point `rows` rows of 32 below the one at `place`.
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

/// x[i][k] = y[k][i]: of registers, no instruction.
template <int A, int B>
__device__ __forceinline__ void transpose(float (&x)[A][B], const float (&y)[B][A]) {
#pragma unroll
    for (int i = 0; i < A; ++i) {
#pragma unroll
        for (int k = 0; k < B; ++k) { x[i][k] = y[k][i]; }
    }
}

/// Of (f, s): columns' transforms completed, r becomes p; rows' begun, j becomes q.
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

/// Of (f, q) and, with 16 s, every other p: rows' transforms completed, the product with the mask's spectrum, and begun backwards.
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

/// Of (f, s), the way back: q becomes j, p becomes r.
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

/// A tile of 128 rows gives 128 - k_h + 1 rows of outputs. Pixel x and the one half a row on are a point's real and imaginary part: a
/// row is a polynomial modulo X^M - i, as a segment of a signal is in rung 27, and wraps around with a changed sign.
///
/// Columns have y = 4 j + r: each thread transforms the 32 points of its r and column; frequency f of all r lies 32 rows apart. From
/// there to the same point of the way back a frequency f stays within a warp, which needs no barrier: 4 x 8 points of r and j, then
/// 8 or 16 of s, then back. Backwards the transforms are the same with real and imaginary parts exchanged.
template <int kNear, int kThreads, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks) kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ Tiles g) {
    using D = Shape<kNear>;
    extern __shared__ __align__(128) char shared[];
    float2* const pairs_r = reinterpret_cast<float2*>(shared) + kRows * D::kPoints;
    const unsigned block = blockIdx.x / static_cast<unsigned>(a.channels);
    const int channel = static_cast<int>(blockIdx.x - block * static_cast<unsigned>(a.channels));
    const unsigned tile_row = block / static_cast<unsigned>(a.tiles_x);
    const std::int64_t first_x = static_cast<std::int64_t>(block - tile_row * static_cast<unsigned>(a.tiles_x)) * g.out_columns;
    const unsigned image = tile_row / static_cast<unsigned>(a.tiles_y);
    const std::int64_t first_y = static_cast<std::int64_t>(tile_row - image * static_cast<unsigned>(a.tiles_y)) * g.out_rows;
    const float* const in = static_cast<const float*>(a.in) + image * a.in_image;
    const auto* const table = static_cast<const float2*>(a.table);

    // Rows that no output of the job needs are absent, so that the last tile's bits don't depend on where a band ends.
    const std::int64_t top = a.first + first_y - a.origin_y;
    const std::int64_t left = first_x - a.origin_x;
    const std::int64_t needed = a.rows - first_y + a.mask_height - 1;
    const bool inside =
        needed >= kRows && top >= a.in_first && top + kRows <= a.in_last && left >= 0 && left + D::kColumns <= a.row_elements / a.channels;
#pragma unroll 1
    for (int task = static_cast<int>(threadIdx.x); task < D::kTasks; task += kThreads) {
        const int column = task % D::kPoints;
        const int r = task / D::kPoints;
        const Column<kNear> points(shared, r, column);
        float re[kLong];
        float im[kLong];
        if (inside) {
            const float* from = in + (top - a.in_first + r) * a.in_row + (left + column) * a.channels + channel;
            const float* half = from + D::kPoints * a.channels;
            const std::int64_t step = kShort * a.in_row;
#pragma unroll
            for (int j = 0; j < kLong; ++j) {
                re[j] = __ldg(from);
                im[j] = __ldg(half);
                from += step;
                half += step;
            }
        } else {
            const float absent = absent_pixel<float>(a);
            const std::int64_t at = source_element(a, (left + column) * a.channels + channel);
            const std::int64_t next = source_element(a, (left + column + D::kPoints) * a.channels + channel);
#pragma unroll 4
            for (int j = 0; j < kLong; ++j) {
                const int y = kShort * j + r;
                const std::int64_t row = y < needed ? source_row(a, top + y) : -1;
                const float* const from = in + row * a.in_row;
                points[j] = {row >= 0 && at >= 0 ? from[at] : absent,
                                                              row >= 0 && next >= 0 ? from[next] : absent};
            }
#pragma unroll
            for (int j = 0; j < kLong; ++j) {
                const float2 point = points[j];
                re[j] = point.x;
                im[j] = point.y;
            }
        }
        fft::transform<kLong>(re, im);
        fft::for_each_index<0, kLong>([&](auto value) {
            constexpr int m = decltype(value)::value;
            points[fft::reversed(m, 5)] = {re[m], im[m]};
        });
    }
    if (threadIdx.x < kShort * kLong / 2) { pairs_r[threadIdx.x] = __ldg(table + D::kPairsR + threadIdx.x); }
    __syncthreads();

    const auto* const spectrum = reinterpret_cast<const float4*>(
        table + D::kSpectra + (a.mask_taps != 0 ? channel * kRows * D::kPoints : 0));
#pragma unroll 1
    for (int task = static_cast<int>(threadIdx.x); task < D::kTasks; task += kThreads) {
        go_inward<kNear>(shared, table, task / kNear, task % kNear);
        __syncwarp();
        multiply_rows<kNear>(shared, table, spectrum, task);
        __syncwarp();
        go_outward<kNear>(shared, table, task / kNear, task % kNear);
    }
    __syncthreads();

    const float* const mask = static_cast<const float*>(a.taps) + channel * a.mask_taps;
    const std::int64_t width = a.out_elements / a.channels;
    const int rows = static_cast<int>(min(a.rows - first_y, static_cast<std::int64_t>(g.out_rows)));
#pragma unroll 1
    for (int task = static_cast<int>(threadIdx.x); task < D::kTasks; task += kThreads) {
        const int column = task % D::kPoints;
        const int r = task / D::kPoints;
        const Column<kNear> points(shared, r, column);
        float re[kLong];
        float im[kLong];
#pragma unroll
        for (int f = 0; f < kLong; ++f) {
            const float2 point = points[f];
            re[f] = point.x;
            im[f] = point.y;
        }
        fft::transform_by<kLong>(im, re, [&](int i, float* c, float* t) {
            const float2 pair = pairs_r[r * kLong / 2 + i];
            *c = pair.x;
            *t = pair.y;
        });
        const float2 twist = __ldg(table + D::kTwists + column);
        float test = 0;  // NaN if a value is not finite
#pragma unroll
        for (int m = 0; m < kLong; ++m) {
            multiply(re[m], im[m], twist);
            test = fmaf(0.0F, re[m], test);
            test = fmaf(0.0F, im[m], test);
        }
        const bool whole = column < g.out_columns && first_x + column < width;
        const bool half = column + D::kPoints < g.out_columns && first_x + column + D::kPoints < width;
        float* to = static_cast<float*>(a.out) + image * a.out_image + (first_y + r) * a.out_row + (first_x + column) * a.channels + channel;
        if (a.common.plain_store && !a.common.converts && test == 0) {
            float* to_half = to + D::kPoints * a.channels;
            const std::int64_t step = kShort * a.out_row;
            fft::for_each_index<0, kLong>([&](auto index) {
                constexpr int j = decltype(index)::value;
                constexpr int m = fft::reversed(j, 5);
                const bool wanted = kShort * j + r < rows;
                if (wanted && whole) { __stcs(to, re[m]); }
                if (wanted && half) { __stcs(to_half, im[m]); }
                to += step;
                to_half += step;
            });
            continue;
        }
        // A value that is not finite, or sums beyond a float's range: such an output is summed up by itself.
        fft::for_each_index<0, kLong>([&](auto value) {
            constexpr int m = decltype(value)::value;
            points[fft::reversed(m, 5)] = {re[m], im[m]};
        });
#pragma unroll 1
        for (int j = 0; j < 2 * kLong; ++j) {
            const int y = j / 2 * kShort + r;
            if (y >= rows || !(j % 2 == 0 ? whole : half)) { continue; }
            const float2 point = points[j / 2];
            const std::int64_t element = (first_x + column + j % 2 * D::kPoints) * a.channels + channel;
            float sum = j % 2 == 0 ? point.x : point.y;
            if (!(fabsf(sum) < INFINITY)) { sum = sum_term_by_term(a, in, mask, a.first + first_y + y, element); }
            store_pixel<float>(a, a.out, image * a.out_image + (first_y + y) * a.out_row + element, sum);
        }
    }
}

}  // namespace tapline::cuda::image_fft_rung
