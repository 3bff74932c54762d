// scale, bias, clamp and the saturating cast, on sums on their way to the output. As core/problem/epilogue.cpp.
#pragma once

#include "cuda/primitives/arguments.hpp"
#include "cuda/primitives/elements.cuh"

namespace tapline::cuda {

/// Limits; NaN passes.
template <class R>
__device__ __forceinline__ R clamp_pass_nan(R x, R low, R high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

template <class X>
__device__ __forceinline__ X finish(const Arguments& a, X sum) {
    if (a.plain_store) { return sum; }
    if constexpr (kIsComplexElement<X>) {
        using R = decltype(sum.x);
        const R scale = static_cast<R>(a.scale);
        if (a.scale != 1) { sum = X{sum.x * scale, sum.y * scale}; }
        sum.x += static_cast<R>(a.bias);
        return sum;
    } else if constexpr (std::is_integral_v<X>) {
        return a.has_clamp ? clamp_pass_nan(sum, static_cast<X>(a.low), static_cast<X>(a.high)) : sum;
    } else {
        if (a.scale != 1) { sum *= static_cast<X>(a.scale); }
        sum += static_cast<X>(a.bias);
        return a.has_clamp ? clamp_pass_nan(sum, static_cast<X>(a.low), static_cast<X>(a.high)) : sum;
    }
}

/// Rounds to even, saturates, makes NaN 0. `top` is the largest value's successor as a double, exact.
template <class I>
__device__ I saturate(double x, double low, double top) {
    if (isnan(x)) { return 0; }
    const double r = rint(x);
    if (r < low) { return static_cast<I>(low); }
    if (r >= top) { return static_cast<I>(~static_cast<I>(0) ^ (low < 0 ? static_cast<I>(1ull << (8 * sizeof(I) - 1)) : 0)); }
    return static_cast<I>(r);
}

/// out[index] = value as another type than the signal's; not for speed.
template <class X>
__device__ __noinline__ void store_converted(const Arguments& a, void* out, std::int64_t index, X value) {
    if constexpr (kIsComplexElement<X>) {
        if (a.output_type == kComplex64) {
            store_element(static_cast<float2*>(out) + index, float2{static_cast<float>(value.x), static_cast<float>(value.y)});
        } else {
            store_element(static_cast<double2*>(out) + index, double2{value.x, value.y});
        }
    } else {
        const double x = value;
        switch (a.output_type) {
            case kF32:
                static_cast<float*>(out)[index] = static_cast<float>(value);
                break;
            case kF64:
                static_cast<double*>(out)[index] = x;
                break;
            case kF16:
                static_cast<__half*>(out)[index] = __double2half(x);
                break;
            case kBf16:
                static_cast<__nv_bfloat16*>(out)[index] = __double2bfloat16(x);
                break;
            case kBoolean:
                static_cast<std::uint8_t*>(out)[index] = saturate<std::uint8_t>(x, 0, 2) != 0;
                break;
            case kI8:
                static_cast<std::int8_t*>(out)[index] = saturate<std::int8_t>(x, -128, 128);
                break;
            case kI16:
                static_cast<std::int16_t*>(out)[index] = saturate<std::int16_t>(x, -32768, 32768);
                break;
            case kI32:
                static_cast<std::int32_t*>(out)[index] = saturate<std::int32_t>(x, -0x1p31, 0x1p31);
                break;
            case kI64:
                static_cast<std::int64_t*>(out)[index] = saturate<std::int64_t>(x, -0x1p63, 0x1p63);
                break;
            case kU8:
                static_cast<std::uint8_t*>(out)[index] = saturate<std::uint8_t>(x, 0, 256);
                break;
            case kU16:
                static_cast<std::uint16_t*>(out)[index] = saturate<std::uint16_t>(x, 0, 65536);
                break;
            case kU32:
                static_cast<std::uint32_t*>(out)[index] = saturate<std::uint32_t>(x, 0, 0x1p32);
                break;
            default:
                static_cast<std::uint64_t*>(out)[index] = saturate<std::uint64_t>(x, 0, 0x1p64);
                break;
        }
    }
}

}  // namespace tapline::cuda
