// Pixels: the element types that only images have, where they come from and how they are stored.
#pragma once

#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/image/image_arguments.hpp"

namespace tapline::cuda {

/// Unsigned pixels: sums are floats, rounded to even and saturated on their way out; NaN becomes 0, as PTX's conversions have it.
template <>
struct Element<std::uint8_t> : SumsInF32 {
    static __device__ Sum widen(std::uint8_t x) { return x; }
    static __device__ std::uint8_t narrow(Sum x) { return static_cast<std::uint8_t>(min(__float2uint_rn(x), 255u)); }
};
template <>
struct Element<std::uint16_t> : SumsInF32 {
    static __device__ Sum widen(std::uint16_t x) { return x; }
    static __device__ std::uint16_t narrow(Sum x) { return static_cast<std::uint16_t>(min(__float2uint_rn(x), 65535u)); }
};

/// The pixel outside the image under a constant boundary.
template <class S>
__device__ __forceinline__ S image_constant(const ImageArguments& a) {
    if constexpr (std::is_same_v<S, std::uint8_t> || std::is_same_v<S, std::uint16_t>) {
        // The CPU keeps the constant as it is for integers too; a rung that stages pixels cannot (its supports() refuses others).
        return static_cast<S>(a.common.constant_real);
    } else {
        return boundary_constant<S>(a.common);
    }
}

/// Where row y of the image comes from: an offset in rows from `in`, -1 for the constant or zero that stands there.
__device__ __forceinline__ std::int64_t source_row(const ImageArguments& a, std::int64_t y) {
    if (y >= a.in_first && y < a.in_last) { return y - a.in_first; }
    if (a.common.boundary <= kConstant) { return -1; }
    y = boundary_index(a.common.boundary, y, a.height);
    return y >= a.in_first && y < a.in_last ? y - a.in_first : -1;  // else nobody asked for an output that needs it
}

/// The same along x, in elements.
__device__ __forceinline__ std::int64_t source_element(const ImageArguments& a, std::int64_t e) {
    if (e >= 0 && e < a.row_elements) { return e; }
    if (a.common.boundary <= kConstant) { return -1; }
    std::int64_t pixel = e / a.channels;
    std::int64_t channel = e % a.channels;
    if (channel < 0) {
        channel += a.channels;
        --pixel;
    }
    return boundary_index(a.common.boundary, pixel, a.width) * a.channels + channel;
}

/// What stands where there is no pixel.
template <class S>
__device__ __forceinline__ S absent_pixel(const ImageArguments& a) {
    return a.common.boundary == kConstant ? image_constant<S>(a) : S{};
}

/// out[index] = the sum with the epilogue, in the output's type.
template <class S>
__device__ __forceinline__ void store_pixel(const ImageArguments& a, void* out, std::int64_t index, typename Element<S>::Sum sum) {
    sum = finish(a.common, sum);
    if (a.common.converts) {
        store_converted(a.common, out, index, sum);
    } else if constexpr (kIsComplexElement<S>) {
        store_element(static_cast<S*>(out) + index, Element<S>::narrow(sum));
    } else {
        __stcs(static_cast<S*>(out) + index, Element<S>::narrow(sum));
    }
}

}  // namespace tapline::cuda
