// 02: a detour: only the store asks whether the thread has work.
#pragma once

#include <algorithm>
#include <bit>

#include "lessons/lesson.hpp"

namespace tapline::cuda::guarded_store {

inline constexpr RungInfo kInfo{
    .number = "02",
    .name = "guarded_store",
    .origin = "A",
    .idea = "Let every thread take its sum and ask only before the store whether the output exists.",
    .changed = "The guard moved from the work to the store; the number of taps is read at run time.",
    .requirements = "Mode leading; a signal of one block, n <= 1024; k <= n.",
    .limited_by =
        "As before; warps past the end walk over all taps for nothing, and one test stands between them and foreign memory.",
    .source = "lessons/02_guarded_store.cuh",
};

inline constexpr int kMaxThreads = 1024;
inline constexpr int kMinThreads = 8;

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

class GuardedStore final : public SignalLesson {
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
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        const unsigned threads = std::max<unsigned>(kMinThreads, std::bit_ceil(static_cast<unsigned>(s.n)));
        kernel<<<1, threads, 0, stream>>>(s);
    }
};

inline const Rung& rung() {
    static const GuardedStore instance;
    return instance;
}

}  // namespace tapline::cuda::guarded_store
