// Transforms of 8 and 16 points in a thread's registers.
#pragma once

#include <cuda_runtime.h>

namespace tapline::cuda {

__device__ __forceinline__ float2 complex_product(float2 a, float2 b) {
    return {fmaf(-a.y, b.y, a.x * b.x), fmaf(a.y, b.x, a.x * b.y)};
}

/// x * exp(-2 pi i k / N), kInverse: exp(+2 pi i k / N); k < N / 2, N <= 16, both known when compiled.
template <int N, bool kInverse>
__device__ __forceinline__ float2 rotate(float2 x, int k) {
    constexpr float kCosines[] = {1.0F, 0.923879532511286756F,  0.707106781186547524F,  0.382683432365089772F,
                                  0.0F, -0.382683432365089772F, -0.707106781186547524F, -0.923879532511286756F};
    constexpr float kSines[] = {0.0F, 0.382683432365089772F, 0.707106781186547524F, 0.923879532511286756F,
                                1.0F, 0.923879532511286756F, 0.707106781186547524F, 0.382683432365089772F};
    const int step = k * (16 / N);
    if (step == 0) { return x; }
    if (step == 4) { return kInverse ? float2{-x.y, x.x} : float2{x.y, -x.x}; }
    return complex_product(x, float2{kCosines[step], kInverse ? kSines[step] : -kSines[step]});
}

/// Decimation in frequency: in natural order, out in bit-reversed order.
template <int N>
__device__ __forceinline__ void transform(float2* x) {
    if constexpr (N > 1) {
#pragma unroll
        for (int i = 0; i < N / 2; ++i) {
            const float2 a = x[i];
            const float2 b = x[i + N / 2];
            x[i] = {a.x + b.x, a.y + b.y};
            x[i + N / 2] = rotate<N, false>({a.x - b.x, a.y - b.y}, i);
        }
        transform<N / 2>(x);
        transform<N / 2>(x + N / 2);
    }
}

/// Its inverse but for the factor N: in bit-reversed order, out in natural order.
template <int N>
__device__ __forceinline__ void transform_back(float2* x) {
    if constexpr (N > 1) {
        transform_back<N / 2>(x);
        transform_back<N / 2>(x + N / 2);
#pragma unroll
        for (int i = 0; i < N / 2; ++i) {
            const float2 a = x[i];
            const float2 b = rotate<N, true>(x[i + N / 2], i);
            x[i] = {a.x + b.x, a.y + b.y};
            x[i + N / 2] = {a.x - b.x, a.y - b.y};
        }
    }
}

}  // namespace tapline::cuda
