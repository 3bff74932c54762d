// 49: masks too large for tiles in shared memory: tiles of up to 2048 x 2048 pixels transformed in three passes through the L2
// cache.
#pragma once

#include "cuda/families/image_fft_large/image_fft_large_columns.cuh"
#include "cuda/families/overlap_save/large/overlap_save_large_task.cuh"

namespace tapline::cuda::image_fft_large_rung {

/// Task number `number`: those of step i are the ones there of unit i, the columns of unit i - lag, the ones back of i - 2 lag.
__device__ __forceinline__ Task task_of(const Passes& g, unsigned number) {
    const auto of_step = static_cast<unsigned>(g.tasks[kThere] + g.tasks[kDown] + g.tasks[kBack]);
    const auto step = static_cast<int>(number / of_step);
    int part = static_cast<int>(number - static_cast<unsigned>(step) * of_step);
    if (step >= g.units + 2 * g.lag) { return {kEnd, 0, 0, 0}; }
    int kind = kThere;
    while (part >= g.tasks[kind]) { part -= g.tasks[kind++]; }
    const int unit = step - kind * g.lag;
    return {unit >= 0 && unit < g.units ? kind : kNothing, unit, part, unit >= 0 ? unit % g.slots : 0};
}

/// A tile's rows are transformed on their way from the image (tasks of a few rows), its columns where they lie, multiplied by the
/// mask's spectrum and transformed back (tasks of neighbouring columns), its rows again on their way to the output. Points x and x
/// + M of a row are a point's parts, and rows wrap around with a changed sign, as in rung 07.
///
/// Blocks take tasks in one order, and a task waits only for tasks before it, which others have taken: no deadlock, however many
/// blocks there are. Tiles lie in a ring that stays in the L2 cache, and columns come so long after rows that nobody waits.
template <class D, bool kAnyType>
__global__ void __launch_bounds__(kThreads, 2)
    image_fft_large_kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ Passes g) {
    constexpr unsigned kTaker = 32;
#ifdef __CUDACC__
    constexpr unsigned kCounter = 0;  // of another warp, as it waits until all has been stored
#else
    constexpr unsigned kCounter = kTaker;  // on the host threads that wait keep others from running
#endif
    extern __shared__ __align__(128) char shared[];
    auto* const place = reinterpret_cast<Task*>(shared);
    char* const points = shared + kHeadBytes;
    int* const columns = reinterpret_cast<int*>(points + 8 * kTaskPoints);
    unsigned next = threadIdx.x == kTaker ? atomicAdd(g.counts, 1U) : 0;
    for (;;) {
        if (threadIdx.x == kTaker) {
            const Task task = task_of(g, next);
            *place = task;
            // What lay in the slot must have been written, rows be complete, columns be complete.
            if (task.kind < kNothing) {
                const int kind = task.kind == kThere ? kBack : task.kind - 1;
                const int unit = task.kind == kThere ? task.unit - g.slots : task.unit;
                if (unit >= 0) {
                    overlap_save::wait_for_count(g.counts + 1 + 3 * unit + kind, static_cast<unsigned>(g.tasks[kind]));
                }
            }
        }
        __syncthreads();
        const Task task = *place;
        if (task.kind == kEnd) { return; }
        if (threadIdx.x == kTaker) { next = atomicAdd(g.counts, 1U); }  // it is there when the task is done
        if (task.kind != kNothing) {
            const Unit unit(a, g, task.unit);
            if (task.kind == kThere) {
                go_there<D, kAnyType>(a, g, unit, task, points, columns);
            } else if (task.kind == kDown) {
                if constexpr (kIsLong<typename D::Down>) {
                    go_down_long<D>(a, g, unit, task, reinterpret_cast<float2*>(points));
                } else {
                    go_down<D>(a, g, unit, task, reinterpret_cast<float2*>(points));
                }
            } else {
                go_back<D, kAnyType>(a, g, unit, task, points);
            }
        }
        __syncthreads();
        if (threadIdx.x == kCounter && task.kind != kNothing) { overlap_save::count_up(g.counts + 1 + 3 * task.unit + task.kind); }
    }
}

template <class D>
Kernel pick_kernel(bool floats) {
    if constexpr (kFloatsApart<D>) {
        if (floats) { return &image_fft_large_kernel<D, false>; }
    }
    return &image_fft_large_kernel<D, true>;
}

}  // namespace tapline::cuda::image_fft_large_rung
