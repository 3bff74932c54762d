// Element types on the GPU: how samples are stored and what sums are kept in. Host code reads it too.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace tapline::cuda {

template <class S, class R = S>
struct StoredAsSums {
    using Sum = S;
    using Real = R;
    static __device__ Sum widen(S x) { return x; }
    static __device__ S narrow(Sum x) { return x; }
};
struct SumsInF32 {
    using Sum = float;
    using Real = float;
};
/// S is the stored type of a sample: float, double, float2 and double2 (complex), __half, __nv_bfloat16.
/// Sum is what products are added up in; a vector is 16 bytes, the widest load of one thread.
template <class S>
struct Element : StoredAsSums<S> {};
template <>
struct Element<float2> : StoredAsSums<float2, float> {};
template <>
struct Element<double2> : StoredAsSums<double2, double> {};
template <>
struct Element<__half> : SumsInF32 {
    static __device__ Sum widen(__half x) { return __half2float(x); }
    static __device__ __half narrow(Sum x) { return __float2half_rn(x); }
};
template <>
struct Element<__nv_bfloat16> : SumsInF32 {
    static __device__ Sum widen(__nv_bfloat16 x) { return __bfloat162float(x); }
    static __device__ __nv_bfloat16 narrow(Sum x) { return __float2bfloat16_rn(x); }
};

template <class S>
inline constexpr int kPerVector = 16 / static_cast<int>(sizeof(S));

template <class T>
inline constexpr bool kIsComplexElement = false;
template <>
inline constexpr bool kIsComplexElement<float2> = true;
template <>
inline constexpr bool kIsComplexElement<double2> = true;

}  // namespace tapline::cuda
