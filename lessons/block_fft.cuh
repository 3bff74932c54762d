// Transforms of a block in shared memory, the textbook's way: log2(points) steps of butterflies with a barrier between them.
#pragma once

namespace tapline::cuda {

/// a times b.
__device__ __forceinline__ float2 product(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

/// e^(i pi at/half)
__device__ __forceinline__ float2 root(int at, int half) {
    float2 w;
    sincospif(static_cast<float>(at) / static_cast<float>(half), &w.y, &w.x);
    return w;
}

/// Where point i lies in bit-reversed order.
template <int kPoints>
__device__ __forceinline__ int bit_reversed(int i) {
    return static_cast<int>(__brev(static_cast<unsigned>(i)) / (0xffffffffU / kPoints + 1));
}

/// x[j] becomes sum_n x[n] e^(sign 2 pi i nj/kPoints), by all threads; before, x[n] lies at bit_reversed(n) (decimation in time:
/// from short transforms to long ones). All see the result.
template <int kPoints, int kThreads>
__device__ void transform_from_reversed(float2* x, float sign) {
    for (int half = 1; half < kPoints; half *= 2) {
        __syncthreads();
        for (int i = static_cast<int>(threadIdx.x); i < kPoints / 2; i += kThreads) {
            const int at = i % half;
            const int low = i / half * 2 * half + at;
            const float2 w = root(at, half);
            const float2 a = x[low];
            const float2 b = product(x[low + half], {w.x, sign * w.y});
            x[low] = {a.x + b.x, a.y + b.y};
            x[low + half] = {a.x - b.x, a.y - b.y};
        }
    }
    __syncthreads();
}

/// The same sums, but in order before and bit-reversed afterwards (decimation in frequency: from long transforms to short ones).
template <int kPoints, int kThreads>
__device__ void transform_to_reversed(float2* x, float sign) {
    for (int half = kPoints / 2; half > 0; half /= 2) {
        __syncthreads();
        for (int i = static_cast<int>(threadIdx.x); i < kPoints / 2; i += kThreads) {
            const int at = i % half;
            const int low = i / half * 2 * half + at;
            const float2 w = root(at, half);
            const float2 a = x[low];
            const float2 b = x[low + half];
            x[low] = {a.x + b.x, a.y + b.y};
            x[low + half] = product({a.x - b.x, a.y - b.y}, {w.x, sign * w.y});
        }
    }
    __syncthreads();
}

}  // namespace tapline::cuda
