// Large segments: what a block does next, what it has in shared memory for it, and what blocks tell each other.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_large.hpp"
#include "cuda/families/overlap_save/overlap_save_samples.cuh"
#include "cuda/primitives/bulk_copy.cuh"

namespace tapline::cuda::overlap_save {

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

/// It is read from shared memory wherever it is needed, and so are the phases below: in registers they would go to local memory
/// while a task needs them all, and what goes there leaves the first-level cache for the L2 cache, which has enough to do. 65,535
/// taps, 2^28 samples 1,479 us; 1,585 with 13 numbers of a thread in local memory, of which a task wrote 5 and read 25.
__device__ __forceinline__ LargeTask read_task(const LargeTask* place) {
    const auto* const words = reinterpret_cast<const volatile int*>(place);
    return {words[0], words[1], words[2], words[3]};
}

/// Barriers of the block's warps, for their parts of spectra, and the phase of each, in shared memory.
struct PartBarriers {
    CopyBarrier* barriers;  // eight, then their phases

    __device__ __forceinline__ void initialize_of(int warp) const {
        initialize(barriers + warp);
        phases()[warp] = 0;
    }
    template <class Point>
    __device__ __forceinline__ SpectrumPart<Point> part_of(int warp, Point* place, int lane) const {
        return {place, barriers + warp, lane, phases()[warp]};
    }
    __device__ __forceinline__ void has_waited(int warp, int lane) const {
        if (lane == 0) { phases()[warp] ^= 1; }
    }

private:
    [[nodiscard]] __device__ __forceinline__ std::uint32_t* phases() const {
        return reinterpret_cast<std::uint32_t*>(barriers + 8);
    }
};

/// What a block has in shared memory.
template <class Tile>
struct LargeShared {
    using Point = typename Tile::Point;
    LargeTask* task;
    PartBarriers barriers;
    Point* tables;
    Point* turns;
    Point* exchange;

    __device__ __forceinline__ explicit LargeShared(uint4* shared)
        : task(reinterpret_cast<LargeTask*>(shared)),
          barriers{reinterpret_cast<CopyBarrier*>(shared + 1)},
          tables(reinterpret_cast<Point*>(shared + kLargeHeadBytes / 16)),
          turns(tables + Tile::kTables.end),
          exchange(turns + Tile::kTurns) {}

    /// Where a segment's points lie in the ring.
    static __device__ __forceinline__ Point* points_of(const LargeTask& task, const LargeSegments& g) {
        return static_cast<Point*>(g.points) + static_cast<std::int64_t>(task.slot) * Tile::kSlot;
    }
};

}  // namespace tapline::cuda::overlap_save
