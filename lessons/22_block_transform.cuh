// 22: a block, a transform: products of spectra instead of products of samples.
#pragma once

#include "cuda/primitives/block_fft.cuh"
#include "cuda/primitives/grid.hpp"
#include "lessons/transform_lesson.hpp"

namespace tapline::cuda::transforms::block {

inline constexpr RungInfo kInfo{
    .number = "22",
    .name = "block_transform",
    .origin = "",
    .idea =
        "A block transforms 2,048 samples, multiplies them by the filter's spectrum and transforms back. The product belongs to "
        "a signal that repeats after 2,048 samples, so the last k - 1 outputs are wrong; segments overlap by them.",
    .changed = "An output no longer costs a product a tap but a share of two transforms, whatever the number of taps.",
    .requirements = "At most 1,537 taps; not for strict accuracy.",
    .limited_by =
        "Waiting: each transform is 11 steps with a barrier between them, every point passes through shared memory in each, "
        "and half of all numbers are zero, the imaginary parts of real samples.",
    .source = "lessons/22_block_transform.cuh",
    .is_local = 0,
};

inline constexpr int kThreads = 256;
inline constexpr int kM = kSamples;  // points

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    __shared__ float2 x[kM];
    const auto* spectrum = static_cast<const float2*>(s.tables);
    const std::int64_t first = std::int64_t{blockIdx.x} * outputs_of(s.k);
    for (int i = static_cast<int>(threadIdx.x); i < kM; i += kThreads) {
        x[bit_reversed<kM>(i)] = {sample_or_zero(s.in, first + i - s.origin, s.n), 0};
    }
    transform_from_reversed<kM, kThreads>(x, 1);
    // Times the spectrum, and in bit-reversed order again for the way back: two points change places.
    for (int i = static_cast<int>(threadIdx.x); i < kM; i += kThreads) {
        const int j = bit_reversed<kM>(i);
        if (i > j) { continue; }
        const float2 at_i = product(x[i], spectrum[i]);
        const float2 at_j = product(x[j], spectrum[j]);
        x[j] = at_i;
        x[i] = at_j;
    }
    transform_from_reversed<kM, kThreads>(x, -1);

    // Every output depends on every sample of the segment.
    const bool repair = !isfinite(x[0].x);
    for (int i = static_cast<int>(threadIdx.x); i < outputs_of(s.k) && first + i < s.m; i += kThreads) {
        s.out[first + i] = repair ? direct_sum(s, first + i) : x[i].x;
    }
}

}  // namespace tapline::cuda::transforms::block

namespace tapline::cuda::transforms {

class BlockTransform final : public TransformLesson {
public:
    [[nodiscard]] RungInfo info() const override { return block::kInfo; }

protected:
    [[nodiscard]] std::vector<std::complex<double>> points(const float* taps, int k) const override {
        return plain_spectrum(taps, k);
    }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&block::kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        block::kernel<<<grid_of(s.m, outputs_of(s.k)), block::kThreads, 0, stream>>>(s);
    }
};

}  // namespace tapline::cuda::transforms
