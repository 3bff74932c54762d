// Products of matrices of bytes on tensor cores, exact in 32 bits, and of doubles.
#pragma once

#include <cstdint>

namespace tapline::cuda::tensor {

/// sum += a * b modulo 2^32: 16 x 32 bytes times 32 x 8. Of lane 4 g + q: a has rows g, g + 8, g, g + 8, columns 4 q .. of the
/// first half, twice, then of the second; b rows 4 q .. of both halves of column g; sum rows g, g, g + 8, g + 8, columns 2 q and
/// the next. kSigned: b's bytes are -128 .. 127.
template <bool kSigned>
__device__ __forceinline__ void multiply_bytes(unsigned (&sum)[4], const unsigned (&a)[4], uint2 b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (kSigned) {
        asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
    } else {
        asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
    }
#else
    static_cast<void>(sum);
    static_cast<void>(a);
    static_cast<void>(b);
#endif
}

/// sum += a * b in double: 8 x 4 times 4 x 8. Of lane 4 g + q: a has column q of row g, b row q of column g, sum columns 2 q and
/// the next of row g.
__device__ __forceinline__ void multiply_doubles(double (&sum)[2], double a, double b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(sum[0]), "+d"(sum[1])
        : "d"(a), "d"(b));
#else
    static_cast<void>(sum);
    static_cast<void>(a);
    static_cast<void>(b);
#endif
}

}  // namespace tapline::cuda::tensor
