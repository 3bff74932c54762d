// Thread-block clusters (compute capability 9.0 on): who is who, barriers of all blocks, shared memory of the others.
#pragma once

#include <cstdint>

#include "cuda/primitives/bulk_copy.cuh"

namespace tapline::cuda {

/// The block's number in its cluster.
__device__ __forceinline__ int cluster_rank() {
    std::uint32_t rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return static_cast<int>(rank);
}

/// A barrier of the cluster's threads in two halves: what a thread did before it arrived is there for those who have waited. All
/// arrive, then all wait, and so on. By whole warps.
__device__ __forceinline__ void cluster_arrive() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/// Shared memory of one of the cluster's blocks as all of them see it: from this block's address of the same thing.
template <class P>
class BlockMemory {
public:
    __device__ __forceinline__ BlockMemory(const P* own, int rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address_) : "r"(shared_address(own)), "r"(rank));
#else
        static_cast<void>(own);
        static_cast<void>(rank);
#endif
    }
    __device__ __forceinline__ void store(int at, const P& p) const {
        static_assert(sizeof(P) == 4 || sizeof(P) == 8 || sizeof(P) == 16);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        const std::uint32_t to = address_ + static_cast<std::uint32_t>(at) * sizeof(P);
        if constexpr (sizeof(P) == 4) {
            asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(to), "f"(p) : "memory");
        } else if constexpr (sizeof(P) == 8) {
            asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(p.x), "f"(p.y) : "memory");
        } else {
            asm volatile("st.shared::cluster.v2.f64 [%0], {%1, %2};" ::"r"(to), "d"(p.x), "d"(p.y) : "memory");
        }
#else
        static_cast<void>(at);
        static_cast<void>(p);
#endif
    }
    __device__ __forceinline__ P load(int at) const {
        P p{};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        const std::uint32_t from = address_ + static_cast<std::uint32_t>(at) * sizeof(P);
        if constexpr (sizeof(P) == 8) {
            asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(p.x), "=f"(p.y) : "r"(from) : "memory");
        } else {
            asm volatile("ld.shared::cluster.v2.f64 {%0, %1}, [%2];" : "=d"(p.x), "=d"(p.y) : "r"(from) : "memory");
        }
#else
        static_cast<void>(at);
#endif
        return p;
    }

private:
    std::uint32_t address_ = 0;
};

}  // namespace tapline::cuda
