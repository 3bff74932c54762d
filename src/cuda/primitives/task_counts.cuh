// What blocks of a launch tell each other: how many tasks of a kind are done.
#pragma once

namespace tapline::cuda {

/// Waits until `done` has counted up to `count`; all threads see what those that counted wrote before.
__device__ __forceinline__ void wait_for_count(const unsigned* done, unsigned count) {
    unsigned seen = 0;
    for (;;) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(done) : "memory");
#else
        seen = *static_cast<const volatile unsigned*>(done);
#endif
        if (seen >= count) { return; }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
        __nanosleep(64);
#endif
    }
}

/// Counts what the block's threads did before a barrier.
__device__ __forceinline__ void count_up(unsigned* done) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(done) : "memory");
#else
    __threadfence();
    atomicAdd(done, 1u);
#endif
}

}  // namespace tapline::cuda
