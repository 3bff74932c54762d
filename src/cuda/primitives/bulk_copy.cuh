// Copies of whole stretches between global and shared memory by the copy engine (compute capability 9.0 on), and how to wait for
// one.
#pragma once

#include <cstdint>

namespace tapline::cuda {

/// What a copy arrives at. One thread initializes it before anyone else uses it.
struct CopyBarrier {
    std::uint64_t state;
};

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void initialize(CopyBarrier* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/// What a thread wrote to or read from shared memory so far comes before copies that are started after a barrier of its threads.
__device__ __forceinline__ void fence_before_copy() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// The same of global memory, also for copies that others start once they know of it.
__device__ __forceinline__ void fence_before_global_copy() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
}

/// Starts the copy of `bytes`; both addresses and the size are multiples of 16. By one thread.
__device__ __forceinline__ void copy_bulk(void* to_shared, const void* from_global, std::uint32_t bytes, CopyBarrier* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to_shared)),
        "l"(from_global), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
#else
    static_cast<void>(to_shared);
    static_cast<void>(from_global);
    static_cast<void>(bytes);
    static_cast<void>(barrier);
#endif
}

/// Starts the copy to global memory of `bytes` that the warp or block wrote before a fence_before_copy() of each of its threads and
/// a barrier of them; addresses and size as above. By one thread, which waits for its copies: until they have been read, so that
/// shared memory may be written again, or all is done, which must be before the block ends.
__device__ __forceinline__ void store_bulk(void* to_global, const void* from_shared, std::uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to_global), "r"(shared_address(from_shared)),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#else
    static_cast<void>(to_global);
    static_cast<void>(from_shared);
    static_cast<void>(bytes);
#endif
}
__device__ __forceinline__ void wait_stores_read() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}
__device__ __forceinline__ void wait_stores() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

/// As if a copy had arrived.
__device__ __forceinline__ void arrive(CopyBarrier* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
#else
    static_cast<void>(barrier);
#endif
}

/// Starts bringing `bytes` into the L2 cache; address and size as above.
__device__ __forceinline__ void prefetch_bulk(const void* from_global, std::uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from_global), "r"(bytes) : "memory");
#else
    static_cast<void>(from_global);
    static_cast<void>(bytes);
#endif
}

/// Returns once the copy of this phase (0, 1, 0, ...) has arrived; for any number of threads.
__device__ __forceinline__ void wait(CopyBarrier* barrier, std::uint32_t phase) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    std::uint32_t done = 0;
    while (done == 0) {
        asm volatile(
            "{\n.reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(shared_address(barrier)), "r"(phase)
            : "memory");
    }
#else
    static_cast<void>(barrier);
    static_cast<void>(phase);
#endif
}

}  // namespace tapline::cuda
