// 24: nothing is reordered.
#pragma once

#include "cuda/primitives/block_fft.cuh"
#include "cuda/primitives/fft.cuh"
#include "cuda/primitives/grid.hpp"
#include "lessons/transform_lesson.hpp"

namespace tapline::cuda::transforms::unordered {

inline constexpr RungInfo kInfo{
    .number = "24",
    .name = "unordered_transform",
    .origin = "",
    .idea =
        "A transform that begins with the long butterflies leaves its frequencies in bit-reversed order; one that begins with the "
        "short ones takes them so. In between only products are made, for which any order does if the spectrum has the same.",
    .changed = "Forward by decimation in frequency, back by decimation in time, and a spectrum stored as the frequencies lie.",
    .requirements = "At most 1,537 taps; not for strict accuracy.",
    .limited_by = "Barriers of 256 threads between steps in which each makes two butterflies, and sines computed on the way.",
    .source = "lessons/24_unordered_transform.cuh",
    .is_local = 0,
};

inline constexpr int kThreads = 256;
inline constexpr int kM = kSamples / 2;  // points

static __global__ void __launch_bounds__(kThreads) kernel(Signal s) {
    __shared__ float2 x[kM];
    const auto* spectrum = static_cast<const float2*>(s.tables);
    const float2* twiddles = spectrum + kM;
    const std::int64_t first = std::int64_t{blockIdx.x} * outputs_of(s.k);
    for (int i = static_cast<int>(threadIdx.x); i < kM; i += kThreads) {
        const float2 point{sample_or_zero(s.in, first + i - s.origin, s.n), sample_or_zero(s.in, first + i + kM - s.origin, s.n)};
        x[i] = product(point, twiddles[i]);
    }
    transform_to_reversed<kM, kThreads>(x, 1);
    for (int i = static_cast<int>(threadIdx.x); i < kM; i += kThreads) { x[i] = product(x[i], spectrum[i]); }
    transform_from_reversed<kM, kThreads>(x, -1);

    const bool repair = !isfinite(x[0].x) || !isfinite(x[0].y);
    for (int i = static_cast<int>(threadIdx.x); i < outputs_of(s.k) && first + i < s.m; i += kThreads) {
        const int n = i % kM;
        const float2 point = product(x[n], {twiddles[n].x, -twiddles[n].y});
        s.out[first + i] = repair ? direct_sum(s, first + i) : i < kM ? point.x : point.y;
    }
}

}  // namespace tapline::cuda::transforms::unordered

namespace tapline::cuda::transforms {

class UnorderedTransform final : public TransformLesson {
public:
    [[nodiscard]] RungInfo info() const override { return unordered::kInfo; }

protected:
    [[nodiscard]] std::vector<std::complex<double>> points(const float* taps, int k) const override {
        const std::vector<std::complex<double>> in_order = packed_spectrum(taps, k);
        std::vector<std::complex<double>> all;
        for (int i = 0; i < unordered::kM; ++i) { all.push_back(in_order[static_cast<std::size_t>(fft::reversed(i, 10))]); }
        for (const std::complex<double>& twiddle : packed_twiddles()) { all.push_back(twiddle); }
        return all;
    }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&unordered::kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        unordered::kernel<<<grid_of(s.m, outputs_of(s.k)), unordered::kThreads, 0, stream>>>(s);
    }
};

}  // namespace tapline::cuda::transforms
