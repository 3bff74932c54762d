// 23: half the points: real samples as complex ones.
#pragma once

#include "cuda/primitives/block_fft.cuh"
#include "cuda/primitives/grid.hpp"
#include "lessons/transform_lesson.hpp"

namespace tapline::cuda::transforms::packed {

inline constexpr RungInfo kInfo{
    .number = "23",
    .name = "packed_transform",
    .origin = "",
    .idea =
        "2,048 real samples are 1,024 complex points, x[n] + i x[n + 1024]: the remainder of the segment's polynomial modulo "
        "X^1024 - i, which determines it modulo X^2048 + 1. What wraps around only changes its sign, and is not used anyway.",
    .changed =
        "Half the points: a twiddle e^(i pi n/2048) before the transform and after it turns X^1024 - i into X^1024 - 1, and "
        "no frequencies have to be separated.",
    .requirements = "At most 1,537 taps; not for strict accuracy.",
    .limited_by = "Still 10 steps with a barrier each way, and two passes that only bring points into another order.",
    .source = "lessons/23_packed_transform.cuh",
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
        x[bit_reversed<kM>(i)] = product(point, twiddles[i]);
    }
    transform_from_reversed<kM, kThreads>(x, 1);
    for (int i = static_cast<int>(threadIdx.x); i < kM; i += kThreads) {
        const int j = bit_reversed<kM>(i);
        if (i > j) { continue; }
        const float2 at_i = product(x[i], spectrum[i]);
        const float2 at_j = product(x[j], spectrum[j]);
        x[j] = at_i;
        x[i] = at_j;
    }
    transform_from_reversed<kM, kThreads>(x, -1);

    const bool repair = !isfinite(x[0].x) || !isfinite(x[0].y);
    for (int i = static_cast<int>(threadIdx.x); i < outputs_of(s.k) && first + i < s.m; i += kThreads) {
        const int n = i % kM;
        const float2 point = product(x[n], {twiddles[n].x, -twiddles[n].y});
        s.out[first + i] = repair ? direct_sum(s, first + i) : i < kM ? point.x : point.y;
    }
}

}  // namespace tapline::cuda::transforms::packed

namespace tapline::cuda::transforms {

class PackedTransform final : public TransformLesson {
public:
    [[nodiscard]] RungInfo info() const override { return packed::kInfo; }

protected:
    [[nodiscard]] std::vector<std::complex<double>> points(const float* taps, int k) const override {
        std::vector<std::complex<double>> all = packed_spectrum(taps, k);
        for (const std::complex<double>& twiddle : packed_twiddles()) { all.push_back(twiddle); }
        return all;
    }
    void load_kernels(const cuda_abi::Device&) const override { load_kernel(&packed::kernel); }
    void launch_signal(const Signal& s, cudaStream_t stream) const override {
        packed::kernel<<<grid_of(s.m, outputs_of(s.k)), packed::kThreads, 0, stream>>>(s);
    }
};

}  // namespace tapline::cuda::transforms
