// A barrier of a block whose threads go on between arriving and waiting, so that warps that are ahead need not stand still.
#pragma once

#include <cstdint>

#include "cuda/primitives/bulk_copy.cuh"

namespace tapline::cuda {

/// In shared memory. Chips before compute capability 9.0 wait for all threads at wait().
struct SplitBarrier {
    CopyBarrier arrivals;
};

/// By one thread, before a __syncthreads().
__device__ __forceinline__ void initialize(SplitBarrier* barrier, int threads) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier->arrivals)), "r"(threads) : "memory");
#else
    static_cast<void>(barrier);
    static_cast<void>(threads);
#endif
}

/// By every thread: what it did before is done for those that wait() lets pass. One lane for its whole warp is no faster.
__device__ __forceinline__ void arrive(SplitBarrier* barrier) { arrive(&barrier->arrivals); }

/// Returns once all threads have arrived for this phase (0, 1, 0, ...), a warp's threads together.
__device__ __forceinline__ void wait(SplitBarrier* barrier, std::uint32_t phase) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    wait(&barrier->arrivals, phase);
    __syncwarp();
#else
    static_cast<void>(barrier);
    static_cast<void>(phase);
    __syncthreads();
#endif
}

}  // namespace tapline::cuda
