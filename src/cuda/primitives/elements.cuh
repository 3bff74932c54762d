// Elements in a kernel: wherever they lie, one product, a vector of them.
#pragma once

#include "cuda/primitives/elements.hpp"

namespace tapline::cuda {

/// An element wherever its real part may lie: pairs of real numbers need not be aligned as a whole.
template <class S>
__device__ __forceinline__ S load_element(const S* from) {
    if constexpr (kIsComplexElement<S>) {
        const auto* parts = reinterpret_cast<const typename Element<S>::Real*>(from);
        return S{parts[0], parts[1]};
    } else {
        return *from;
    }
}
template <class S>
__device__ __forceinline__ void store_element(S* to, const S& x) {
    if constexpr (kIsComplexElement<S>) {
        auto* parts = reinterpret_cast<typename Element<S>::Real*>(to);
        parts[0] = x.x;
        parts[1] = x.y;
    } else {
        *to = x;
    }
}

template <class S>
__device__ __forceinline__ bool is_finite(const S& x) {
    if constexpr (kIsComplexElement<S>) {
        return isfinite(x.x) && isfinite(x.y);
    } else if constexpr (std::is_integral_v<S>) {
        return true;
    } else {
        return isfinite(x);
    }
}

/// sum += x * h; a complex product is its four real ones, integers wrap.
template <class X, class H>
__device__ __forceinline__ void multiply_add(X& sum, const X& x, const H& h) {
    if constexpr (std::is_integral_v<X>) {
        using U = std::make_unsigned_t<X>;
        sum = static_cast<X>(static_cast<U>(sum) + static_cast<U>(x) * static_cast<U>(h));
    } else if constexpr (!kIsComplexElement<X>) {
        sum = fma(x, h, sum);
    } else if constexpr (!kIsComplexElement<H>) {
        sum.x = fma(x.x, h, sum.x);
        sum.y = fma(x.y, h, sum.y);
    } else {
        sum.x = fma(-x.y, h.y, fma(x.x, h.x, sum.x));
        sum.y = fma(x.y, h.x, fma(x.x, h.y, sum.y));
    }
}

/// The 16 / sizeof(S) samples of a vector, widened.
template <class S>
__device__ __forceinline__ void unpack(typename Element<S>::Sum* to, uint4 vector) {
    union {
        uint4 whole;
        S parts[kPerVector<S>];
    } view;
    view.whole = vector;
#pragma unroll
    for (int i = 0; i < kPerVector<S>; ++i) { to[i] = Element<S>::widen(view.parts[i]); }
}
template <>
__device__ __forceinline__ void unpack<__half>(float* to, uint4 vector) {
    const std::uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        __half2 pair;
        memcpy(&pair, &words[i], sizeof pair);
        const float2 wide = __half22float2(pair);
        to[2 * i] = wide.x;
        to[2 * i + 1] = wide.y;
    }
}
template <>
__device__ __forceinline__ void unpack<__nv_bfloat16>(float* to, uint4 vector) {
    const std::uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // a bfloat16 is the upper half of a float
        to[2 * i] = __uint_as_float(words[i] << 16);
        to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
}

/// The inverse: sums rounded to storage, as one vector.
template <class S>
__device__ __forceinline__ uint4 pack(const typename Element<S>::Sum* from) {
    uint4 whole;
    auto* words = reinterpret_cast<std::uint32_t*>(&whole);
    if constexpr (sizeof(S) == 2) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            S pair[2] = {Element<S>::narrow(from[2 * i]), Element<S>::narrow(from[2 * i + 1])};
            memcpy(&words[i], pair, 4);
        }
    } else {
        memcpy(words, from, 16);
    }
    return whole;
}

/// kCount consecutive taps whose address is a multiple of their size in bytes, by loads as wide as they are.
template <int kCount, class H>
__device__ __forceinline__ void load_taps(H (&to)[kCount], const H* from) {
    constexpr int kBytes = kCount * static_cast<int>(sizeof(H));
    if constexpr (kBytes % 16 == 0) {
        uint4 vectors[kBytes / 16];
#pragma unroll
        for (int i = 0; i < kBytes / 16; ++i) { vectors[i] = reinterpret_cast<const uint4*>(from)[i]; }
        memcpy(to, vectors, kBytes);
    } else {
        static_assert(kBytes == 8);
        const uint2 vector = *reinterpret_cast<const uint2*>(from);
        memcpy(to, &vector, kBytes);
    }
}

}  // namespace tapline::cuda
