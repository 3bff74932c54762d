// Reads of less than a line of memory that bring what lies around them into the L2 cache, for others who are about to ask for it:
// memory answers one request of 256 bytes sooner than four of 64.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda/primitives/copy_async.cuh"

namespace tapline::cuda {

/// copy_16_async() with the 128 bytes around.
__device__ __forceinline__ void copy_16_of_128_async(void* to_shared, const void* from_global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from_global) : "memory");
#else
    copy_16_async(to_shared, from_global);
#endif
}

/// From the L2 cache, with the 256 bytes around.
__device__ __forceinline__ float2 load_of_256(const float2* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float2 value;
    asm volatile("ld.global.cg.L2::256B.v2.f32 {%0, %1}, [%2];" : "=f"(value.x), "=f"(value.y) : "l"(from) : "memory");
    return value;
#else
    return __ldcg(from);
#endif
}

/// The same with the 64 bytes around.
__device__ __forceinline__ float2 load_of_64(const float2* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float2 value;
    asm volatile("ld.global.cg.L2::64B.v2.f32 {%0, %1}, [%2];" : "=f"(value.x), "=f"(value.y) : "l"(from) : "memory");
    return value;
#else
    return __ldcg(from);
#endif
}

/// A sample of 2, 4 or 8 bytes with the 128 bytes around.
template <class S>
__device__ __forceinline__ S load_of_128(const S* from) {
    static_assert(sizeof(S) == 2 || sizeof(S) == 4 || sizeof(S) == 8);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::conditional_t<sizeof(S) == 2, std::uint16_t, std::conditional_t<sizeof(S) == 4, std::uint32_t, std::uint64_t>> bits;
    if constexpr (sizeof(S) == 2) {
        asm volatile("ld.global.cg.L2::128B.u16 %0, [%1];" : "=h"(bits) : "l"(from) : "memory");
    } else if constexpr (sizeof(S) == 4) {
        asm volatile("ld.global.cg.L2::128B.u32 %0, [%1];" : "=r"(bits) : "l"(from) : "memory");
    } else {
        asm volatile("ld.global.cg.L2::128B.u64 %0, [%1];" : "=l"(bits) : "l"(from) : "memory");
    }
    S sample;
    memcpy(&sample, &bits, sizeof sample);
    return sample;
#else
    return __ldcg(from);
#endif
}

}  // namespace tapline::cuda
