// 12: a thread an output, and the caches do the rest.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::basic {

inline constexpr Head kHead("12", "basic", "E1", R"(
Idea: Write it down plainly, one thread an output, and let the caches find what neighbours share.
Changed: No shared memory and no barriers; the output is clamped on its way out.
Requires: At most 2^31 - 1 blocks of 256 outputs.
Limited by: Two loads and a bounds test for each product: the load units are busy, the multipliers are not.
)");

inline constexpr int kThreads = 256;

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    const std::int64_t o = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (o >= s.m) { return; }
    const std::int64_t start = o - s.origin;
    float sum = 0;
    for (std::int64_t t = 0; t < s.k; ++t) {
        if (inside(start + t, s.n)) { sum += s.taps[t] * s.in[start + t]; }
    }
    s.out[o] = clamp_pass_nan(sum, s.low, s.high);
}

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel = kernel, .blocks = {.threads = kThreads}, .clamps = true, .seconds_per_product = 3e-13};

}  // namespace tapline::cuda::basic
