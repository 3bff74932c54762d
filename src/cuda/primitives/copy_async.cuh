// 16 bytes from global to shared memory without passing through registers where the chip can (compute capability 8.0 on).
#pragma once

#include <cstdint>

namespace tapline::cuda {

__device__ __forceinline__ void copy_16_async(void* to_shared, const void* from_global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from_global) : "memory");
#else
    *static_cast<uint4*>(to_shared) = *static_cast<const uint4*>(from_global);
#endif
}

/// Or zeros, of which nothing is read.
__device__ __forceinline__ void copy_16_or_zeros_async(void* to_shared, const void* from_global, bool is_read) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from_global), "r"(is_read ? 16 : 0) : "memory");
#else
    *static_cast<uint4*>(to_shared) = is_read ? *static_cast<const uint4*>(from_global) : uint4{};
#endif
}

/// A word, from any address that is a multiple of its size.
__device__ __forceinline__ void copy_4_async(void* to_shared, const void* from_global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from_global) : "memory");
#else
    *static_cast<std::uint32_t*>(to_shared) = *static_cast<const std::uint32_t*>(from_global);
#endif
}

/// Two words, from any address that is a multiple of their size.
__device__ __forceinline__ void copy_8_async(void* to_shared, const void* from_global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from_global) : "memory");
#else
    *static_cast<std::uint64_t*>(to_shared) = *static_cast<const std::uint64_t*>(from_global);
#endif
}

/// A vector of which only the first `bytes` bytes exist; the others become zero. bytes = 0 reads nothing.
__device__ __forceinline__ void copy_up_to_16_async(void* to_shared, const void* from_global, int bytes) {
    if (bytes == 16) {
        copy_16_async(to_shared, from_global);
        return;
    }
    // An asynchronous copy with a smaller source size fills up with zeros too, but reads all 16 bytes.
    auto* to = static_cast<char*>(to_shared);
    *static_cast<uint4*>(to_shared) = uint4{};
#pragma unroll 1
    for (int i = 0; i < bytes; ++i) { to[i] = static_cast<const char*>(from_global)[i]; }
}

/// `size` samples from `start` on of a row of `length` that begins on 16 bytes, by one warp; zeros where they leave the row.
template <class S>
__device__ __forceinline__ void copy_or_zero_async(S* to_shared, const S* row, std::int64_t start, std::int64_t length, int size,
                                                   int lane) {
    constexpr int V = 16 / static_cast<int>(sizeof(S));
#pragma unroll 1
    for (int v = lane; v < size / V; v += 32) {
        const std::int64_t at = start + v * V;
        const bool outside = at < 0 || at >= length;
        const std::int64_t left = (length - at) * static_cast<std::int64_t>(sizeof(S));
        copy_up_to_16_async(to_shared + v * V, outside ? row : row + at, outside ? 0 : static_cast<int>(left < 16 ? left : 16));
    }
}

/// Ends a group of copies; wait_copies<n>() returns once all groups of this thread but the last n have arrived.
__device__ __forceinline__ void commit_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int kPending>
__device__ __forceinline__ void wait_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace tapline::cuda
