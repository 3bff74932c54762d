// 13: the taps in constant memory.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::constant_memory {

inline constexpr Head kHead("13", "constant_memory", "E2", R"(
Idea: All threads of a warp want the same tap at the same time: constant memory has a cache made to answer just that.
Changed: The taps come from a __constant__ array, filled on the stream before the launch.
Requires: k <= 16384, 64 KB. One array for the whole process, so one run at a time.
Limited by: A load and a bounds test for each product, as before: the broadcast of a tap was cheap in the other cache too.
)");

inline constexpr int kThreads = 256;
inline constexpr int kMaxTaps = 16384;

static __constant__ float taps[kMaxTaps];  // (k) used

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    const std::int64_t o = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (o >= s.m) { return; }
    const std::int64_t start = o - s.origin;
    const int k = static_cast<int>(s.k);
    float sum = 0;
    for (int t = 0; t < k; ++t) {
        if (inside(start + t, s.n)) { sum += taps[t] * s.in[start + t]; }
    }
    s.out[o] = clamp_pass_nan(sum, s.low, s.high);
}

inline void fill(const Signal& s, cudaStream_t stream) {
    const std::size_t taps_bytes = static_cast<std::size_t>(s.k) * sizeof(float);
    check(cudaMemcpyToSymbolAsync(taps, s.taps, taps_bytes, 0, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyToSymbolAsync");
}

inline Refusal needs(const Problem& p) {
    return p.x.k > kMaxTaps ? "constant memory holds 16384 taps, not " + std::to_string(p.x.k) : "";
}

inline constexpr SignalLesson lesson{.head = kHead,
                                     .kernel = kernel,
                                     .blocks = {.threads = kThreads},
                                     .before = fill,
                                     .needs = needs,
                                     .clamps = true,
                                     .seconds_per_product = 3e-13};

}  // namespace tapline::cuda::constant_memory
