// 01: the whole problem in one block.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "lessons/lesson.hpp"

namespace tapline::cuda::one_block {

inline constexpr RungInfo kInfo{
    .number = "01",
    .name = "one_block",
    .origin = "A",
    .idea = "A thread makes one output; signal and taps are copied to shared memory once and every sum is taken from there.",
    .changed = "The first rung.",
    .requirements = "Mode leading; a signal of one block, n <= 1024; k <= n.",
    .limited_by = "One multiprocessor works and all others are idle; what is measured is the launch.",
    .source = "lessons/01_one_block.cuh",
};

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

using Kernel = void (*)(Signal);

/// Entry k is the kernel for k taps, entry 0 the one for any number.
template <int... kTaps>
constexpr std::array<Kernel, sizeof...(kTaps)> kernel_table(std::integer_sequence<int, kTaps...>) {
    return {kernel<kTaps>...};
}
inline const auto kKernels = kernel_table(std::make_integer_sequence<int, kMaxUnrolled + 1>{});

class OneBlock final : public SignalLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override {
        if (p.x.origin != 0 || p.x.outputs != p.x.n) { return "needs mode leading: one output a sample, origin 0"; }
        if (p.x.n > kMaxThreads) { return "one block: takes at most 1024 samples, not " + std::to_string(p.x.n); }
        if (p.x.k > p.x.n) { return "takes no more taps than samples"; }
        return {};
    }
    [[nodiscard]] double seconds_per_product() const override { return 1e-11; }
    void load_kernels(const cuda_abi::Device&) const override {
        for (const Kernel entry : kKernels) { load_kernel(entry); }
    }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        const unsigned threads = std::max<unsigned>(kMinThreads, std::bit_ceil(static_cast<unsigned>(s.n)));
        const Kernel entry = kKernels[s.k <= kMaxUnrolled ? static_cast<std::size_t>(s.k) : 0];
        entry<<<1, threads, 0, stream>>>(s);
    }
};

inline const Rung& rung() {
    static const OneBlock instance;
    return instance;
}

}  // namespace tapline::cuda::one_block
