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

/// One of an own barrier's arrivals, and the bytes that its phase takes besides; others may store them before.
__device__ __forceinline__ void expect_bytes(CopyBarrier* barrier, std::uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
#else
    static_cast<void>(barrier);
    static_cast<void>(bytes);
#endif
}
/// Of so many arrivals a phase. Other blocks may use it after a barrier of the cluster.
__device__ __forceinline__ void initialize(CopyBarrier* barrier, int arrivals) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
    static_cast<void>(barrier);
    static_cast<void>(arrivals);
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

/// Another of the cluster's blocks, by this block's addresses of what it has at the same place: one register for all of them.
class OtherBlock {
public:
    __device__ __forceinline__ OtherBlock(const void* own, int rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(distance_) : "r"(shared_address(own)), "r"(rank));
        distance_ -= shared_address(own);
#else
        static_cast<void>(own);
        static_cast<void>(rank);
#endif
    }
    /// Stores four numbers and adds their 16 bytes to the other block's barrier.
    __device__ __forceinline__ void store_counted(const float4* at, const float4& p, const CopyBarrier* barrier) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                         shared_address(at) + distance_),
                     "f"(p.x), "f"(p.y), "f"(p.z), "f"(p.w), "r"(shared_address(barrier) + distance_)
                     : "memory");
#else
        static_cast<void>(at);
        static_cast<void>(p);
        static_cast<void>(barrier);
#endif
    }
    /// At the other block's barrier. What the thread read from its own shared memory may then be stored to.
    __device__ __forceinline__ void arrive(const CopyBarrier* barrier) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(shared_address(barrier) + distance_) : "memory");
#else
        static_cast<void>(barrier);
#endif
    }

private:
    std::uint32_t distance_ = 0;
};

}  // namespace tapline::cuda
