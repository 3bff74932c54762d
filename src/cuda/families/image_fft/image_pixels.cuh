// Pixels of any type on their way into a tile's points and out of them.
#pragma once

#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/primitives/image/image_tile.cuh"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::image_fft_rung {

constexpr std::int64_t kNoSource = INT64_MIN;  // of a row or column that is absent

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

/// body(a pixel as memory has it), of 8 or 16 bits, where T is double also of 64: what it stands for is asked once for all that a
/// thread has.
template <class T = float, class Body>
__device__ __forceinline__ void with_pixel(int bytes, const Body& body) {
    if (bytes == 1) {
        body(std::uint8_t{});
    } else if (sizeof(T) == 8 && bytes == 8) {
        body(T{});
    } else {
        body(std::uint16_t{});
    }
}

/// What is read where there is no pixel: of numbers T what stands for it, of others what widen_pixels() replaces.
template <class Pixel, class T>
__device__ __forceinline__ Pixel no_pixel([[maybe_unused]] T absent) {
    if constexpr (std::is_same_v<Pixel, T>) {
        return absent;
    } else {
        return {};
    }
}
/// Pixels as numbers T, of which `absent` stands where there is none: there(i), which reads anew what it asks, as numbers that were
/// kept from the loads would go to local memory.
template <int kCount, class Pixel, class T, class There>
__device__ __forceinline__ void widen_pixels(Dtype type, const Pixel (&raw)[kCount], T* to, T absent, const There& there) {
    if constexpr (sizeof(T) == 8 && sizeof(Pixel) < 8) {
        // An integer becomes a double by an addition, for which there is room where there is not for as many conversions.
        constexpr double kOfBits = 0x1p52 + 0x1p31;
        int x[kCount];
        widen_raw(type, raw, x);
#pragma unroll
        for (int i = 0; i < kCount; ++i) { to[i] = __hiloint2double(0x43300000, x[i] ^ INT32_MIN) - kOfBits; }
    } else {
        T x[kCount];
        widen_raw(type, raw, x);
#pragma unroll
        for (int i = 0; i < kCount; ++i) { to[i] = x[i]; }
    }
    if (!std::is_same_v<Pixel, T> && absent != 0) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) { to[i] = there(i) ? to[i] : absent; }
    }
}
/// Reads memory even if its content is known.
template <class X>
__device__ __forceinline__ X read_anew(const X& x) {
    return static_cast<const volatile X&>(x);
}
template <int kCount, class Pixel, class T>
__device__ __forceinline__ void widen_pixels(Dtype type, const Pixel (&raw)[kCount], T* to) {
    widen_pixels(type, raw, to, T{}, [](int) { return true; });
}

/// This thread's pixels of its column: rows 4 j + r, and those half a row on. `in`: the image's channel; `step`: elements from
/// pixel to pixel; `source_rows`: room for a tile's rows.
template <int kNear, class Pixel, class T>
__device__ __forceinline__ void load_points(const ImageArguments& a, Dtype type, const Pixel* in, std::int64_t* source_rows,
                                            const Window& window, std::int64_t step, T (&re)[kLong], T (&im)[kLong]) {
    using D = Shape<kNear>;
    Pixel first[kLong];
    Pixel second[kLong];
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
            first[j] = __ldg(from);
            second[j] = __ldg(from + half);
            from += kShort * a.in_row;
        }
        widen_pixels(type, first, re);
        widen_pixels(type, second, im);
    } else {
        if (task < kRows) {
            const std::int64_t row = window_row(a, window, task);
            source_rows[task] = row < 0 ? kNoSource : row * a.in_row;
        }
        const std::int64_t at = source_pixel(a, left + column);
        const std::int64_t next = source_pixel(a, left + column + D::kPoints);
        const T absent = absent_pixel<T>(a);
        __syncthreads();
        // Both addresses by one: with an address for each, found behind its condition, a load took twenty instructions.
        const std::int64_t some = max(at, std::int64_t{0});
        const Pixel* const from = in + some * step;
        const std::int64_t apart = (max(next, std::int64_t{0}) - some) * step;
#pragma unroll
        for (int j = 0; j < kLong; ++j) {
            const std::int64_t row = source_rows[kShort * j + r];
            const Pixel* const pixel = from + row;
            first[j] = row != kNoSource && at >= 0 ? __ldg(pixel) : no_pixel<Pixel>(absent);
            second[j] = row != kNoSource && next >= 0 ? __ldg(pixel + apart) : no_pixel<Pixel>(absent);
        }
        const auto has_row = [&](int j) { return read_anew(source_rows[kShort * j + r]) != kNoSource; };
        widen_pixels(type, first, re, absent, [&](int j) { return at >= 0 && has_row(j); });
        widen_pixels(type, second, im, absent, [&](int j) { return next >= 0 && has_row(j); });
    }
}

/// The same where memory has columns side by side: lanes go down them, into a tile of numbers that threads take their columns from.
/// `staged`: kRows rows of D::kColumns numbers, which nobody uses afterwards; lanes meet in no bank on either way.
/// `source_columns`: room for a tile's columns.
template <int kNear, class Pixel, class T>
__device__ __forceinline__ void load_points_by_columns(const ImageArguments& a, Dtype type, const Pixel* in, T* staged,
                                                       std::int64_t* source_columns, const Window& window, std::int64_t step,
                                                       T (&re)[kLong], T (&im)[kLong]) {
    using D = Shape<kNear>;
    constexpr int kAtOnce = 16;
    constexpr int kApart = D::kTasks / kRows;  // columns that are loaded side by side
    const int task = static_cast<int>(threadIdx.x);
    const T absent = absent_pixel<T>(a);
    {
        if (task < D::kColumns) {
            const std::int64_t at = source_pixel(a, window.left + task);
            source_columns[task] = at < 0 ? kNoSource : at * step;
        }
        const int y = task % kRows;
        const int first = task / kRows;
        const std::int64_t row = window_row(a, window, y);
        const Pixel* const from = in + max(row, std::int64_t{0}) * a.in_row;
        T* const to = staged + y * D::kColumns;
        __syncthreads();
#pragma unroll 1
        for (int x = first; x < D::kColumns; x += kApart * kAtOnce) {
            Pixel raw[kAtOnce];
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i) {
                const std::int64_t at = source_columns[x + i * kApart];
                raw[i] = row >= 0 && at != kNoSource ? __ldg(from + at) : no_pixel<Pixel>(absent);
            }
            T held[kAtOnce];
            widen_pixels(type, raw, held, absent,
                         [&](int i) { return row >= 0 && read_anew(source_columns[x + i * kApart]) != kNoSource; });
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
        const T* const line = staged + y * D::kColumns;
        re[j] = line[column ^ (y % 32)];
        im[j] = line[(column + D::kPoints) ^ (y % 32)];
    }
    __syncthreads();
}

/// Sums as outputs of any type but a complex one.
template <class T, class Raw>
__device__ __forceinline__ void narrow_points(const ImageArguments& a, T (&sum)[kLong], Raw (&raw)[kLong]) {
    if (!a.common.plain_store) {
#pragma unroll
        for (int m = 0; m < kLong; ++m) { sum[m] = finish(a.common, sum[m]); }
    }
    narrow_real_to_raw(a.common.output_type, sum, raw);
}

/// One of them, as element `index` of the outputs.
template <class T>
__device__ __forceinline__ void store_alone(const ImageArguments& a, const Tiles& g, std::int64_t index, T sum) {
    const T made[1] = {finish(a.common, sum)};
    with_raw(g.output_bytes, [&](auto element) {
        decltype(element) raw[1];
        narrow_real_to_raw(a.common.output_type, made, raw);
        static_cast<decltype(element)*>(a.out)[index] = raw[0];
    });
}

/// Output (y, x) as the sum that it is, from global memory; load(i): element i of the image's channel as a number T.
template <class Load, class T>
__device__ __forceinline__ T sum_of_pixels(const ImageArguments& a, const Load& load, const T* mask, std::int64_t step,
                                           std::int64_t y, std::int64_t x) {
    const T absent = absent_pixel<T>(a);
    T sum = 0;
    for (int i = 0; i < a.mask_height; ++i) {
        const std::int64_t row = source_row(a, y - a.origin_y + i);
        for (int j = 0; j < a.mask_width; ++j) {
            const std::int64_t at = source_pixel(a, x - a.origin_x + j);
            sum = fma(row >= 0 && at >= 0 ? load(row * a.in_row + at * step) : absent, mask[i * a.mask_width + j], sum);
        }
    }
    return sum;
}

/// The same; `first`: the channel's first element, from a.in.
template <bool kAnyType, class T>
__device__ __noinline__ T sum_term_by_term(const ImageArguments& a, const Tiles& g, std::int64_t first, const T* mask,
                                           std::int64_t step, std::int64_t y, std::int64_t x) {
    const auto load = [&](std::int64_t at) {
        if constexpr (kAnyType) {
            return load_any<T>(g.input_type, g.input_bytes, a.in, first + at);
        } else {
            return static_cast<const T*>(a.in)[first + at];
        }
    };
    return sum_of_pixels(a, load, mask, step, y, x);
}

}  // namespace tapline::cuda::image_fft_rung
