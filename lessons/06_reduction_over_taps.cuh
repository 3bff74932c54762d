// 06: the loop over what matters.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::reduction_over_taps {

inline constexpr Head kHead("06", "reduction_over_taps", "C1", R"(
Idea: Loop over the k taps and compute the sample that each meets, rather than search all positions for them.
Changed: k steps instead of n + k - 1; nothing else.
Requires: At most 2^31 - 1 outputs, one block each.
Limited by: One thread a block: 31 of a warp's 32 lanes are switched off, and every step waits for the sum's way to memory.
)");

/// One thread, its sum in global memory.
static __global__ void kernel(Signal s) {
    const std::int64_t o = blockIdx.x;
    volatile float* sum = s.out + o;
    *sum = 0;
    for (std::int64_t t = 0; t < s.k; ++t) {
        const std::int64_t position = o - s.origin + t;
        if (inside(position, s.n)) { *sum = *sum + s.taps[t] * s.in[position]; }
    }
}

inline constexpr SignalLesson lesson{.head = kHead, .kernel = kernel, .blocks = {.threads = 1}, .seconds_per_product = 1e-10};

}  // namespace tapline::cuda::reduction_over_taps
