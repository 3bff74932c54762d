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

/// The same of integers of so many bits, as these bits.
__device__ inline std::uint64_t saturate_to_bits(double x, int bits, bool is_signed) {
    const int magnitude_bits = bits - (is_signed ? 1 : 0);
    const double top = __longlong_as_double(static_cast<long long>(1023 + magnitude_bits) << 52);
    if (isnan(x)) { return 0; }
    const double r = rint(x);
    if (r >= top) { return ~std::uint64_t{0} >> (64 - magnitude_bits); }
    return r < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(is_signed ? fmax(r, -top) : 0))
                 : static_cast<std::uint64_t>(r);
}

/// out[index] = the low bytes of `raw`.
__device__ __forceinline__ void store_raw(void* out, int bytes, std::int64_t index, std::uint64_t raw) {
    switch (bytes) {
        case 1:
            static_cast<std::uint8_t*>(out)[index] = static_cast<std::uint8_t>(raw);
            break;
        case 2:
            static_cast<std::uint16_t*>(out)[index] = static_cast<std::uint16_t>(raw);
            break;
        case 4:
            static_cast<std::uint32_t*>(out)[index] = static_cast<std::uint32_t>(raw);
            break;
        default:
            static_cast<std::uint64_t*>(out)[index] = raw;
            break;
    }
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
                static_cast<std::uint8_t*>(out)[index] = isnan(x) || rint(x) <= 0 ? 0 : 1;
                break;
            default: {
                const bool is_signed = a.output_type <= kI64;
                const int bytes = 1 << (static_cast<int>(a.output_type) - static_cast<int>(is_signed ? kI8 : kU8));
                store_raw(out, bytes, index, saturate_to_bits(x, 8 * bytes, is_signed));
            }
        }
    }
}

}  // namespace tapline::cuda
