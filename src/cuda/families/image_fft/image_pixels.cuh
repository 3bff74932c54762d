// Pixels of any type on their way into a tile's points and out of them.
#pragma once

#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/primitives/image/image_tile.cuh"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::image_fft_rung {

constexpr std::int64_t kNoRow = INT64_MIN;

/// Where a tile's window begins, and how many of its rows outputs of the job need.
struct Window {
    std::int64_t top, left, needed;
};

/// Where pixel x of a row comes from: its number, -1 for the constant or zero that stands there.
__device__ __forceinline__ std::int64_t source_pixel(const ImageArguments& a, std::int64_t x) {
    if (x >= 0 && x < a.width) { return x; }
    return a.common.boundary <= kConstant ? -1 : boundary_index(a.common.boundary, x, a.width);
}

/// Where row y of the window comes from. Rows that no output of the job needs are absent, so that the last tile's bits don't depend
/// on where a band ends.
__device__ __forceinline__ std::int64_t window_row(const ImageArguments& a, const Window& window, int y) {
    return y < window.needed ? source_row(a, window.top + y) : -1;
}

__device__ __forceinline__ float as_float(float x) { return x; }
__device__ __forceinline__ float as_float(std::uint8_t x) { return x; }
__device__ __forceinline__ float as_float(std::int8_t x) { return x; }
__device__ __forceinline__ float as_float(std::uint16_t x) { return x; }
__device__ __forceinline__ float as_float(std::int16_t x) { return x; }
__device__ __forceinline__ float as_float(__half x) { return __half2float(x); }
__device__ __forceinline__ float as_float(__nv_bfloat16 x) { return __bfloat162float(x); }

/// body(a pixel of the type), of 8 or 16 bits.
template <class Body>
__device__ __forceinline__ void with_pixel(Dtype type, const Body& body) {
    switch (type) {
        case kI8:
            return body(std::int8_t{});
        case kU16:
            return body(std::uint16_t{});
        case kI16:
            return body(std::int16_t{});
        case kF16:
            return body(__half{});
        case kBf16:
            return body(__nv_bfloat16{});
        default:
            return body(std::uint8_t{});
    }
}

/// This thread's pixels of its column: rows 4 j + r, and those half a row on. `in`: the image's channel; `step`: elements from
/// pixel to pixel; `source_rows`: room for a tile's rows.
template <int kNear, class Pixel>
__device__ __forceinline__ void load_points(const ImageArguments& a, const Pixel* in, std::int64_t* source_rows,
                                            const Window& window, std::int64_t step, float (&re)[kLong], float (&im)[kLong]) {
    using D = Shape<kNear>;
    const int task = static_cast<int>(threadIdx.x);
    const int column = task % D::kPoints;
    const int r = task / D::kPoints;
    const std::int64_t top = window.top;
    const std::int64_t left = window.left;
    if (window.needed >= kRows && top >= a.in_first && top + kRows <= a.in_last && left >= 0 && left + D::kColumns <= a.width) {
        const Pixel* from = in + (top - a.in_first + r) * a.in_row + (left + column) * step;
        const std::int64_t half = D::kPoints * step;
#pragma unroll
        for (int j = 0; j < kLong; ++j) {
            re[j] = as_float(__ldg(from));
            im[j] = as_float(__ldg(from + half));
            from += kShort * a.in_row;
        }
    } else {
        if (task < kRows) {
            const std::int64_t row = window_row(a, window, task);
            source_rows[task] = row < 0 ? kNoRow : row * a.in_row;
        }
        const std::int64_t at = source_pixel(a, left + column);
        const std::int64_t next = source_pixel(a, left + column + D::kPoints);
        const Pixel* const from = in + at * step;
        const Pixel* const from_next = in + next * step;
        const float absent = absent_pixel<float>(a);
        __syncthreads();
#pragma unroll
        for (int j = 0; j < kLong; ++j) {
            const std::int64_t row = source_rows[kShort * j + r];
            re[j] = row != kNoRow && at >= 0 ? as_float(__ldg(from + row)) : absent;
            im[j] = row != kNoRow && next >= 0 ? as_float(__ldg(from_next + row)) : absent;
        }
    }
}

/// The same where memory has columns side by side: lanes go down them, into a tile of floats that threads take their columns from.
/// `staged`: kRows rows of D::kColumns floats, which nobody uses afterwards; lanes meet in no bank on either way.
template <int kNear, class Pixel>
__device__ __forceinline__ void load_points_by_columns(const ImageArguments& a, const Pixel* in, float* staged,
                                                       const Window& window, std::int64_t step, float (&re)[kLong],
                                                       float (&im)[kLong]) {
    using D = Shape<kNear>;
    constexpr int kAtOnce = 16;
    constexpr int kApart = D::kTasks / kRows;  // columns that are loaded side by side
    const int task = static_cast<int>(threadIdx.x);
    const float absent = absent_pixel<float>(a);
    {
        const int y = task % kRows;
        const int first = task / kRows;
        const std::int64_t row = window_row(a, window, y);
        const Pixel* const from = in + row * a.in_row;
        float* const to = staged + y * D::kColumns;
#pragma unroll 1
        for (int x = first; x < D::kColumns; x += kApart * kAtOnce) {
            float held[kAtOnce];
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i) {
                const std::int64_t at = source_pixel(a, window.left + x + i * kApart);
                held[i] = row >= 0 && at >= 0 ? as_float(__ldg(from + at * step)) : absent;
            }
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i) { to[(x + i * kApart) ^ (y % 32)] = held[i]; }
        }
    }
    __syncthreads();
    const int column = task % D::kPoints;
    const int r = task / D::kPoints;
#pragma unroll
    for (int j = 0; j < kLong; ++j) {
        const int y = kShort * j + r;
        const float* const line = staged + y * D::kColumns;
        re[j] = line[column ^ (y % 32)];
        im[j] = line[(column + D::kPoints) ^ (y % 32)];
    }
    __syncthreads();
}

/// Sums as outputs of any type but a complex one.
template <class Raw>
__device__ __forceinline__ void narrow_points(const ImageArguments& a, float (&sum)[kLong], Raw (&raw)[kLong]) {
    if (!a.common.plain_store) {
#pragma unroll
        for (int m = 0; m < kLong; ++m) { sum[m] = finish(a.common, sum[m]); }
    }
    narrow_real_to_raw(a.common.output_type, sum, raw);
}

/// Output (y, x) as the sum that it is, from global memory; load(i): element i of the image's channel as a float.
template <class Load>
__device__ __forceinline__ float sum_of_pixels(const ImageArguments& a, const Load& load, const float* mask, std::int64_t step,
                                               std::int64_t y, std::int64_t x) {
    const float absent = absent_pixel<float>(a);
    float sum = 0;
    for (int i = 0; i < a.mask_height; ++i) {
        const std::int64_t row = source_row(a, y - a.origin_y + i);
        for (int j = 0; j < a.mask_width; ++j) {
            const std::int64_t at = source_pixel(a, x - a.origin_x + j);
            sum = fmaf(row >= 0 && at >= 0 ? load(row * a.in_row + at * step) : absent, mask[i * a.mask_width + j], sum);
        }
    }
    return sum;
}

/// The same; `first`: the channel's first element, from a.in.
template <bool kAnyType>
__device__ __noinline__ float sum_term_by_term(const ImageArguments& a, const Tiles& g, std::int64_t first, const float* mask,
                                               std::int64_t step, std::int64_t y, std::int64_t x) {
    const auto load = [&](std::int64_t at) {
        if constexpr (kAnyType) {
            return load_any<float>(g.input_type, g.input_bytes, a.in, first + at);
        } else {
            return static_cast<const float*>(a.in)[first + at];
        }
    };
    return sum_of_pixels(a, load, mask, step, y, x);
}

}  // namespace tapline::cuda::image_fft_rung
