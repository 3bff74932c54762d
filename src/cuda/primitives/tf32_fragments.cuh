// Products of floats on tensor cores in TF32 (compute capability 8.0 on): a float is two such numbers of 11 bits with the exponent
// of a float, so nothing has to be scaled; three products make one.
#pragma once

#include <cuda_runtime.h>

namespace tapline::cuda::tf32 {

/// x = high + low, to half a unit of 2^-23 of x; tensor cores read the 11 leading bits of each and ignore the rest, so `high` is
/// rounded by an addition. Infinity and NaN give a `low` of NaN.
__device__ __forceinline__ void split(float x, float& high, float& low) {
    const unsigned rounded = __float_as_uint(x) + 0x1000u;
    high = __uint_as_float(rounded);
    low = x - __uint_as_float(rounded & 0xffffe000u);
}

/// The same with `high` cut off instead of rounded: an addition less, and up to three units lost.
__device__ __forceinline__ void cut(float x, float& high, float& low) {
    high = x;
    low = x - __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

/// sum (16 x 8) += a (16 x 8) * b (8 x 8). Lane 4 g + q has of `a` rows g, g + 8, g, g + 8 of columns q, q, q + 4, q + 4; of `b`
/// rows q, q + 4 of column g; of `sum` row g columns 2 q, 2 q + 1, then row g + 8.
__device__ __forceinline__ void multiply(float (&sum)[4], const float (&a)[4], const float (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
          "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#endif
}

}  // namespace tapline::cuda::tf32
