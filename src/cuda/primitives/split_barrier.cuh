// A barrier of a block whose threads go on between arriving and waiting, so that warps that are ahead need not stand still.
#pragma once

#include <cstdint>

namespace tapline::cuda {

/// In shared memory. Chips before compute capability 9.0 wait for all threads at wait().
struct SplitBarrier {
    std::uint64_t state;
};

/// By one thread, before a __syncthreads().
__device__ __forceinline__ void initialize(SplitBarrier* barrier, int threads) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(threads) : "memory");
#else
    barrier->state = static_cast<std::uint64_t>(threads);
#endif
}

/// By every thread: what it did before is done for those that wait() lets pass. One lane for its whole warp is no faster.
__device__ __forceinline__ void arrive(SplitBarrier* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
#else
    static_cast<void>(barrier);
#endif
}

/// Returns once all threads have arrived for this phase (0, 1, 0, ...), a warp's threads together.
__device__ __forceinline__ void wait(SplitBarrier* barrier, std::uint32_t phase) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
    std::uint32_t done = 0;
    while (done == 0) {
        asm volatile(
            "{\n.reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(address), "r"(phase)
            : "memory");
    }
    __syncwarp();
#else
    static_cast<void>(barrier);
    static_cast<void>(phase);
    __syncthreads();
#endif
}

}  // namespace tapline::cuda
