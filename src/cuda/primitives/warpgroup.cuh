// Products of a warpgroup, four warps, on tensor cores (compute capability 9.0, built for 90a).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace tapline::cuda {

/// What this thread wrote to shared memory is seen by products that begin after a barrier.
__device__ __forceinline__ void fence_for_warpgroup() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
/// A barrier of the block's warpgroup number `group`.
__device__ __forceinline__ void wait_for_warpgroup(int group) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");  // 0 is __syncthreads'
#endif
}
/// Registers that the products read are written.
__device__ __forceinline__ void begin_warpgroup_products() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void commit_warpgroup_products() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/// A matrix of halves in shared memory made of cores, 8 columns of 8 elements (16 bytes) each, one after the other: the next 8
/// elements of the columns lie `along` bytes on, the next 8 columns `across` bytes. `address`: of shared memory, a multiple of 16.
/// Bits: PTX ISA, "Matrix descriptor"; no swizzle.
__device__ __forceinline__ std::uint64_t matrix_of_cores(unsigned address, unsigned along, unsigned across) {
    return static_cast<std::uint64_t>(address / 16) | static_cast<std::uint64_t>(along / 16) << 16 |
           static_cast<std::uint64_t>(across / 16) << 32;
}

/// The same so many bytes on, a multiple of 16; shared memory is small enough that nothing is carried.
__device__ __forceinline__ std::uint64_t cores_after(std::uint64_t matrix, int bytes) {
    return (matrix & 0xffffffff00000000u) | (static_cast<unsigned>(matrix) + static_cast<unsigned>(bytes / 16));
}

/// sum (64 x 64) = a (64 x 16) * b (16 x 64), + sum unless kFirst. Warp w has rows 16 w .. 16 w + 15, fragments as mma.m16n8k16.
template <bool kFirst>
__device__ __forceinline__ void multiply_warpgroup(float (&sum)[8][4], const unsigned (&a)[4], std::uint64_t b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}\n"
        : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[0][2]), "+f"(sum[0][3]), "+f"(sum[1][0]), "+f"(sum[1][1]), "+f"(sum[1][2]),
          "+f"(sum[1][3]), "+f"(sum[2][0]), "+f"(sum[2][1]), "+f"(sum[2][2]), "+f"(sum[2][3]), "+f"(sum[3][0]), "+f"(sum[3][1]),
          "+f"(sum[3][2]), "+f"(sum[3][3]), "+f"(sum[4][0]), "+f"(sum[4][1]), "+f"(sum[4][2]), "+f"(sum[4][3]), "+f"(sum[5][0]),
          "+f"(sum[5][1]), "+f"(sum[5][2]), "+f"(sum[5][3]), "+f"(sum[6][0]), "+f"(sum[6][1]), "+f"(sum[6][2]), "+f"(sum[6][3]),
          "+f"(sum[7][0]), "+f"(sum[7][1]), "+f"(sum[7][2]), "+f"(sum[7][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(kFirst ? 0 : 1));
#endif
}

/// sum (64 x 32) = a (64 x 16) * b (16 x 32), + sum unless kFirst; both of H, __half or __nv_bfloat16; a: registers kFrom ..
/// kFrom + 3 of `from`.
template <class H, bool kFirst, int kFrom>
__device__ __forceinline__ void multiply_rows(float (&sum)[4][4], const unsigned (&from)[8], std::uint64_t b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define TAPLINE_MULTIPLY_ROWS(types)                                                                                             \
    asm volatile(                                                                                                                \
        "{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"                                                                             \
        "wgmma.mma_async.sync.aligned.m64n32k16.f32." types                                                                      \
        " {"                                                                                                                     \
        "%0, %1, %2, %3, %4, %5, %6, %7, "                                                                                       \
        "%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20, p, 1, 1, 0;\n}\n"                                     \
        : "+f"(sum[0][0]), "+f"(sum[0][1]), "+f"(sum[0][2]), "+f"(sum[0][3]), "+f"(sum[1][0]), "+f"(sum[1][1]), "+f"(sum[1][2]), \
          "+f"(sum[1][3]), "+f"(sum[2][0]), "+f"(sum[2][1]), "+f"(sum[2][2]), "+f"(sum[2][3]), "+f"(sum[3][0]), "+f"(sum[3][1]), \
          "+f"(sum[3][2]), "+f"(sum[3][3])                                                                                       \
        : "r"(from[kFrom]), "r"(from[kFrom + 1]), "r"(from[kFrom + 2]), "r"(from[kFrom + 3]), "l"(b), "r"(kFirst ? 0 : 1))
    if constexpr (std::is_same_v<H, __half>) {
        TAPLINE_MULTIPLY_ROWS("f16.f16");
    } else {
        TAPLINE_MULTIPLY_ROWS("bf16.bf16");
    }
#undef TAPLINE_MULTIPLY_ROWS
#endif
}

/// All groups of products of this thread but the last kPending are done; `sum` is one's that is.
template <int kPending>
__device__ __forceinline__ void wait_warpgroup_products() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#endif
}
template <int kPending, int kColumns>
__device__ __forceinline__ void wait_warpgroup_products(float (&sum)[kColumns][4]) {
    wait_warpgroup_products<kPending>();
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#pragma unroll
    for (int n = 0; n < kColumns; ++n) {
        asm volatile("" : "+f"(sum[n][0]), "+f"(sum[n][1]), "+f"(sum[n][2]), "+f"(sum[n][3])::"memory");
    }
#endif
}

/// Four 8 x 8 matrices of 16-bit elements, fragments as products leave them (a pair of neighbours of row lane / 4), to shared
/// memory with rows and columns exchanged; `address`: where row lane % 8 of matrix lane / 8 goes then.
__device__ __forceinline__ void store_transposed(unsigned address, const unsigned (&pairs)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(pairs[0]),
                 "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
                 : "memory");
#endif
}

}  // namespace tapline::cuda
