// 14: tile and halo in shared memory.
#pragma once

#include <algorithm>
#include <bit>

#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/grid.hpp"
#include "cuda/primitives/zero_boundary.cuh"
#include "lessons/lesson.hpp"

namespace tapline::cuda::tiled {

inline constexpr RungInfo kInfo{
    .number = "14",
    .name = "tiled",
    .origin = "E3",
    .idea = "Load every sample that a block needs once, its own and a halo of k/2 on both sides, and sum from shared memory.",
    .changed = "Samples from shared memory; no bounds test in the sum; taps from global memory again.",
    .requirements = "k/2 <= 1024: a thread loads its own sample and at most one of each halo.",
    .limited_by =
        "A barrier between loading and summing, and still two loads for each product: where the samples were in the "
        "first-level cache anyway, copying them to the same chip memory by hand buys little.",
    .source = "lessons/14_tiled.cuh",
};

inline constexpr int kThreads = 256;
inline constexpr int kMaxThreads = 1024;

/// The tile is centred on the samples under the middle tap, position o - origin + k/2 for output o: mode same has them at o
/// itself, another origin only moves the tile. blockDim.x >= k/2.
static __global__ void __launch_bounds__(kMaxThreads) kernel(Signal s) {
    extern __shared__ float tile[];  // (blockDim.x + 2 radius), halo, own, halo
    const int thread = static_cast<int>(threadIdx.x);
    const int block = static_cast<int>(blockDim.x);
    const int k = static_cast<int>(s.k);
    const int radius = k / 2;
    const std::int64_t o = std::int64_t{blockIdx.x} * block + thread;
    const std::int64_t middle = o - s.origin + radius;
    tile[radius + thread] = sample_or_zero(s.in, middle, s.n);
    if (thread < radius) {
        tile[thread] = sample_or_zero(s.in, middle - radius, s.n);
        tile[radius + block + thread] = sample_or_zero(s.in, middle + block, s.n);
    }
    __syncthreads();
    if (o >= s.m) { return; }
    float sum = 0;
    for (int t = 0; t < k; ++t) { sum += s.taps[t] * tile[thread + t]; }
    s.out[o] = clamp_pass_nan(sum, s.low, s.high);
}

inline unsigned threads_for(std::int64_t k) { return std::max<unsigned>(kThreads, std::bit_ceil(static_cast<unsigned>(k / 2))); }

class Tiled final : public SignalLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override {
        if (p.x.k / 2 > kMaxThreads) { return "a block of 1024 threads loads a halo of 1024: takes at most 2049 taps"; }
        return refuse_grid(p.x.outputs, threads_for(p.x.k));
    }
    [[nodiscard]] bool clamps() const override { return true; }
    [[nodiscard]] double seconds_per_product() const override { return 3e-13; }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        const unsigned threads = threads_for(s.k);
        const std::size_t tile_bytes = (threads + 2 * static_cast<std::size_t>(s.k / 2)) * sizeof(float);  // 12 KB at most
        kernel<<<grid_of(s.m, threads), threads, tile_bytes, stream>>>(s);
    }
};

inline const Rung& rung() {
    static const Tiled instance;
    return instance;
}

}  // namespace tapline::cuda::tiled
