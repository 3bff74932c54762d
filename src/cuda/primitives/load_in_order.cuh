// Loads from shared memory that stay in the order in which they are written.
#pragma once

#include <cstdint>

namespace tapline::cuda {

/// Loads are answered in their order, so that a transform may begin with its first points while the others are on their way, if its
/// factors are asked for first and the points in the order in which it takes them. The compiler would ask for points by address and
/// for factors after them, just before they are used.
__device__ __forceinline__ float2 load_in_order(const float2* from) {
    float2 value;
    asm volatile("ld.volatile.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(value.x), "=f"(value.y)
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(from)))
                 : "memory");
    return value;
}
__device__ __forceinline__ float4 load_in_order(const float4* from) {
    float4 value;
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(from)))
                 : "memory");
    return value;
}

/// Number i of kCount in that order where two steps are taken at once: of those a quarter of kCount apart one after the other.
template <int kCount>
__device__ constexpr int taken_at(int i) {
    return i / 4 + i % 4 * (kCount / 4);
}

}  // namespace tapline::cuda
