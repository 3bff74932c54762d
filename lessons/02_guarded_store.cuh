// 02: a detour: only the store asks whether the thread has work.
#pragma once

#include "lessons/01_one_block.cuh"

namespace tapline::cuda::guarded_store {

inline constexpr Head kHead("02", "guarded_store", "A", R"(
Idea: Let every thread take its sum and ask only before the store whether the output exists.
Changed: The guard moved from the work to the store; the number of taps is read at run time.
Requires: Mode leading; a signal of one block, n <= 1024; k <= n.
Limited by: As before; warps past the end walk over all taps for nothing, and one test stands between them and foreign memory.
)");

using one_block::kMaxThreads;

/// A thread past the end runs the loop as well. Nothing but `i + t < n` keeps it from adding up what shared memory happens to
/// hold behind the signal, or from reading past the array: the guard on the store does not.
static __global__ void __launch_bounds__(kMaxThreads) kernel(Signal s) {
    __shared__ float signal[kMaxThreads];  // (n)
    __shared__ float taps[kMaxThreads];    // (k)
    const int i = static_cast<int>(threadIdx.x);
    const int n = static_cast<int>(s.n);
    const int k = static_cast<int>(s.k);
    if (i < n) { signal[i] = s.in[i]; }
    if (i < k) { taps[i] = s.taps[i]; }
    __syncthreads();
    float sum = 0;
    for (int t = 0; t < k; ++t) {
        if (i + t < n) { sum += taps[t] * signal[i + t]; }
    }
    if (i < n) { s.out[i] = sum; }
}

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel = kernel, .blocks_for = one_block::blocks_for, .needs = one_block::needs, .seconds_per_product = 1e-11};

}  // namespace tapline::cuda::guarded_store
