// Pixels of any type on their way into a tile's points and out of them.
#pragma once

#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/primitives/image/image_tile.cuh"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::image_fft_rung {

/// Where a tile's window begins, and how many of its rows outputs of the job need.
struct Window {
    std::int64_t top, left, needed;
};

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

/// This thread's pixels of its column: rows 4 j + r, and those half a row on. `in`: the image; `source_rows`: room for a tile's
/// rows.
template <int kNear, class Pixel>
__device__ __forceinline__ void load_points(const ImageArguments& a, const Pixel* in, std::int64_t* source_rows,
                                            const Window& window, int channels, int channel, float (&re)[kLong],
                                            float (&im)[kLong]) {
    using D = Shape<kNear>;
    const int task = static_cast<int>(threadIdx.x);
    const int column = task % D::kPoints;
    const int r = task / D::kPoints;
    const std::int64_t top = window.top;
    const std::int64_t left = window.left;
    if (window.needed >= kRows && top >= a.in_first && top + kRows <= a.in_last && left >= 0 && left + D::kColumns <= a.width) {
        const Pixel* from = in + (top - a.in_first + r) * a.in_row + (left + column) * channels + channel;
#pragma unroll
        for (int j = 0; j < kLong; ++j) {
            re[j] = as_float(__ldg(from));
            im[j] = as_float(__ldg(from + D::kPoints * channels));
            from += kShort * a.in_row;
        }
    } else {
        // Rows that no output of the job needs are absent, so that the last tile's bits don't depend on where a band ends.
        if (task < kRows) {
            const std::int64_t row = task < window.needed ? source_row(a, top + task) : -1;
            source_rows[task] = row < 0 ? -1 : row * a.in_row;
        }
        const std::int64_t at = source_element(a, (left + column) * channels + channel);
        const std::int64_t next = source_element(a, (left + column + D::kPoints) * channels + channel);
        const float absent = absent_pixel<float>(a);
        __syncthreads();
#pragma unroll
        for (int j = 0; j < kLong; ++j) {
            const std::int64_t row = source_rows[kShort * j + r];
            re[j] = row >= 0 && at >= 0 ? as_float(__ldg(in + row + at)) : absent;
            im[j] = row >= 0 && next >= 0 ? as_float(__ldg(in + row + next)) : absent;
        }
    }
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

/// sum_term_by_term() of pixels of any type.
__device__ __noinline__ inline float sum_any_term_by_term(const ImageArguments& a, const Tiles& g, std::int64_t image,
                                                          const float* mask, std::int64_t y, std::int64_t element) {
    const auto load = [&](std::int64_t at) { return load_any<float>(g.input_type, g.input_bytes, a.in, image * a.in_image + at); };
    return sum_of_terms(a, load, mask, y, element);
}

}  // namespace tapline::cuda::image_fft_rung
