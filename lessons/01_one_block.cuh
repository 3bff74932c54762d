// 01: the whole problem in one block.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "lessons/lesson.hpp"

namespace tapline::cuda::one_block {

inline constexpr Head kHead("01", "one_block", "A", R"(
Idea: A thread makes one output; signal and taps are copied to shared memory once and every sum is taken from there.
Changed: The first rung.
Requires: Mode leading; a signal of one block, n <= 1024; k <= n.
Limited by: One multiprocessor works and all others are idle; what is measured is the launch.
)");

inline constexpr int kMaxThreads = 1024;
inline constexpr int kMinThreads = 8;
inline constexpr int kMaxUnrolled = 8;

/// kTaps: the number of taps where it is known when the kernel is compiled, so that the loop is unrolled; 0: s.k.
/// The signal may be shorter than the block: each thread asks whether it has work before it reads and before it sums.
/// Two reads and one write of global memory a thread.
template <int kTaps>
static __global__ void __launch_bounds__(kMaxThreads) kernel(Signal s) {
    __shared__ float signal[kMaxThreads];  // (n)
    __shared__ float taps[kMaxThreads];    // (k)
    const int i = static_cast<int>(threadIdx.x);
    const int n = static_cast<int>(s.n);
    const int k = kTaps > 0 ? kTaps : static_cast<int>(s.k);
    if (i < n) { signal[i] = s.in[i]; }
    if (i < k) { taps[i] = s.taps[i]; }
    __syncthreads();  // outside every condition: all threads of the block must come here
    if (i < n) {
        float sum = 0;
#pragma unroll
        for (int t = 0; t < k; ++t) {
            if (i + t < n) { sum += taps[t] * signal[i + t]; }
        }
        s.out[i] = sum;
    }
}

using Kernel = SignalLesson::Kernel;

/// Entry k is the kernel for k taps, entry 0 the one for any number.
template <int... kTaps>
constexpr std::array<Kernel, sizeof...(kTaps)> kernel_table(std::integer_sequence<int, kTaps...>) {
    return {kernel<kTaps>...};
}
inline const auto kKernels = kernel_table(std::make_integer_sequence<int, kMaxUnrolled + 1>{});

inline Refusal needs(const Problem& p) {
    if (p.x.origin != 0 || p.x.outputs != p.x.n) { return "needs mode leading: one output a sample, origin 0"; }
    if (p.x.n > kMaxThreads) { return "one block: takes at most 1024 samples, not " + std::to_string(p.x.n); }
    if (p.x.k > p.x.n) { return "takes no more taps than samples"; }
    return {};
}

inline Kernel kernel_for(const Problem& p) { return kKernels[p.x.k <= kMaxUnrolled ? static_cast<std::size_t>(p.x.k) : 0]; }

inline Blocks blocks_for(const Problem& p) {
    return {.threads = std::max<unsigned>(kMinThreads, std::bit_ceil(static_cast<unsigned>(p.x.n)))};
}

inline constexpr SignalLesson lesson{
    .head = kHead, .kernel_for = kernel_for, .blocks_for = blocks_for, .needs = needs, .seconds_per_product = 1e-11};

}  // namespace tapline::cuda::one_block
