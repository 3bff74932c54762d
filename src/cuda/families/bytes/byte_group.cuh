// Products of matrices of bytes by a warpgroup, four warps, exact in 32 bits (compute capability 9.0, built for 90a).
#pragma once

#include <cstdint>

#include "cuda/primitives/warpgroup.cuh"

namespace tapline::cuda::tensor {

#define TAPLINE_SIGNED_OR_NOT(multiply) \
    if constexpr (kSigned) {            \
        multiply("s8");                 \
    } else {                            \
        multiply("u8");                 \
    }

/// sum (64 x 64) += a (64 x 32 bytes) * b (32 x 64 bytes) modulo 2^32. Warp w has rows 16 w .. 16 w + 15, fragments as
/// mma.m16n8k32; kSigned: a's bytes are -128 .. 127. b: columns of 32 bytes, cores as matrix_of_cores() says.
template <bool kSigned>
__device__ __forceinline__ void multiply_group_bytes([[maybe_unused]] unsigned (&sum)[8][4],
                                                     [[maybe_unused]] const unsigned (&a)[4], [[maybe_unused]] std::uint64_t b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define TAPLINE_MULTIPLY_GROUP_BYTES(type)                                                                                        \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.s32." type                                                               \
                 ".u8 {"                                                                                                          \
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                         \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, 1;" \
                 : "+r"(sum[0][0]), "+r"(sum[0][1]), "+r"(sum[0][2]), "+r"(sum[0][3]), "+r"(sum[1][0]), "+r"(sum[1][1]),          \
                   "+r"(sum[1][2]), "+r"(sum[1][3]), "+r"(sum[2][0]), "+r"(sum[2][1]), "+r"(sum[2][2]), "+r"(sum[2][3]),          \
                   "+r"(sum[3][0]), "+r"(sum[3][1]), "+r"(sum[3][2]), "+r"(sum[3][3]), "+r"(sum[4][0]), "+r"(sum[4][1]),          \
                   "+r"(sum[4][2]), "+r"(sum[4][3]), "+r"(sum[5][0]), "+r"(sum[5][1]), "+r"(sum[5][2]), "+r"(sum[5][3]),          \
                   "+r"(sum[6][0]), "+r"(sum[6][1]), "+r"(sum[6][2]), "+r"(sum[6][3]), "+r"(sum[7][0]), "+r"(sum[7][1]),          \
                   "+r"(sum[7][2]), "+r"(sum[7][3])                                                                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
    TAPLINE_SIGNED_OR_NOT(TAPLINE_MULTIPLY_GROUP_BYTES)
#undef TAPLINE_MULTIPLY_GROUP_BYTES
#endif
}

/// The same with 32 columns.
template <bool kSigned>
__device__ __forceinline__ void multiply_group_bytes([[maybe_unused]] unsigned (&sum)[4][4],
                                                     [[maybe_unused]] const unsigned (&a)[4], [[maybe_unused]] std::uint64_t b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define TAPLINE_MULTIPLY_GROUP_BYTES(type)                                                                               \
    asm volatile("wgmma.mma_async.sync.aligned.m64n32k32.s32." type                                                      \
                 ".u8 {"                                                                                                 \
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20, 1;"  \
                 : "+r"(sum[0][0]), "+r"(sum[0][1]), "+r"(sum[0][2]), "+r"(sum[0][3]), "+r"(sum[1][0]), "+r"(sum[1][1]), \
                   "+r"(sum[1][2]), "+r"(sum[1][3]), "+r"(sum[2][0]), "+r"(sum[2][1]), "+r"(sum[2][2]), "+r"(sum[2][3]), \
                   "+r"(sum[3][0]), "+r"(sum[3][1]), "+r"(sum[3][2]), "+r"(sum[3][3])                                    \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
    TAPLINE_SIGNED_OR_NOT(TAPLINE_MULTIPLY_GROUP_BYTES)
#undef TAPLINE_MULTIPLY_GROUP_BYTES
#endif
}
#undef TAPLINE_SIGNED_OR_NOT

/// As wait_warpgroup_products(), of such sums.
template <int kBlocks, int kColumns>
__device__ __forceinline__ void settle_products(unsigned (&sum)[kBlocks][kColumns][4]) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#pragma unroll
    for (int m = 0; m < kBlocks; ++m) {
#pragma unroll
        for (int n = 0; n < kColumns; ++n) {
            asm volatile("" : "+r"(sum[m][n][0]), "+r"(sum[m][n][1]), "+r"(sum[m][n][2]), "+r"(sum[m][n][3])::"memory");
        }
    }
#else
    static_cast<void>(sum);
#endif
}

}  // namespace tapline::cuda::tensor
