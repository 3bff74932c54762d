// 05: the formula, taken literally.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::naive_reduction {

inline constexpr Head kHead("05", "naive_reduction", "C0", R"(
Idea: One block for each output, one thread in it, which walks over all n + k - 1 positions and adds where signal and taps meet.
Changed: A new start: no sharing, no tile, any mode; the sum lies in global memory and is rewritten at every step.
Requires: At most 2^31 - 1 outputs, one block each.
Limited by: n + k - 1 steps for k products, one lane of each warp's 32 at work.
)");

/// One thread. volatile: the sum is read from memory and written back at every step, as the line says; without it the compiler
/// would hold the sum in a register, which is the lesson of rung 09.
static __global__ void kernel(Signal s) {
    const std::int64_t o = blockIdx.x;
    volatile float* sum = s.out + o;
    *sum = 0;
    for (std::int64_t position = 0; position < s.n + s.k - 1; ++position) {
        const std::int64_t t = position - (o - s.origin);
        if (inside(position, s.n) && inside(t, s.k)) { *sum = *sum + s.taps[t] * s.in[position]; }
    }
}

inline constexpr SignalLesson lesson{.head = kHead, .kernel = kernel, .blocks = {.threads = 1}, .seconds_per_product = 1e-8};

}  // namespace tapline::cuda::naive_reduction
