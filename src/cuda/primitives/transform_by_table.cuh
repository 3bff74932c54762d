// Transforms whose factors lie in a table, and the product with a spectrum between two of them.
#pragma once

#include <numbers>

#include "cuda/primitives/fft.cuh"
#include "cuda/primitives/load_in_order.cuh"

namespace tapline::cuda::overlap_save {

/// The first two steps of points that are real, sample r of kPoints in re[r]: those of fft::transform<kPoints, 1, 2>. With
/// w = e^(i pi/8), w^2 = e^(i pi/4) and w^3 = e^(i 3 pi/8), four points take 15 operations.
template <int kPoints>
__device__ __forceinline__ void take_two_steps(float* re, float* im) {
    constexpr float kRoot = static_cast<float>(std::numbers::sqrt2 / 2);
    constexpr float kCosine = static_cast<float>(fft::cosine(std::numbers::pi / 8));
    constexpr float kSine = static_cast<float>(fft::sine(std::numbers::pi / 8));
    constexpr int h = kPoints / 4;
#pragma unroll
    for (int r = 0; r < h; ++r) {
        const float b = re[r + h];
        const float d = re[r + 3 * h];
        const float turned = kRoot * re[r + 2 * h];
        const float upper = re[r] + turned;
        const float lower = re[r] - turned;
        re[r] = fmaf(kSine, d, fmaf(kCosine, b, upper));
        im[r] = fmaf(kCosine, d, fmaf(kSine, b, turned));
        re[r + h] = fmaf(2.0F, upper, -re[r]);
        im[r + h] = fmaf(2.0F, turned, -im[r]);
        re[r + 2 * h] = fmaf(kCosine, d, fmaf(-kSine, b, lower));
        im[r + 2 * h] = fmaf(-kSine, d, fmaf(kCosine, b, -turned));
        re[r + 3 * h] = fmaf(2.0F, lower, -re[r + 2 * h]);
        im[r + 3 * h] = fmaf(-2.0F, turned, -im[r + 2 * h]);
    }
}

__device__ __forceinline__ fft::Four<float> four_from(const float4& four) { return {four.x, four.y, four.z, four.w}; }

/// The first kSteps steps of fft::transform_by: factors of fft::four_steps_by, then couples of pairs (c, t) of the other steps in
/// their turn; kSpread: from one of a thread's factors to the next.
template <int kPoints, int kSteps, int kSpread, class Four>
__device__ __forceinline__ void transform_by_table(float* re, float* im, const float2* factors, const Four& four) {
    fft::four_steps_by<kPoints>(re, im, four);
    const auto* const couples = reinterpret_cast<const float4*>(factors + 2 * fft::kFours * kSpread);
    float4 two;
    fft::transform_by<kPoints, kSteps, 4>(re, im, [&](int i, float* c, float* t) {
        const int turn = fft::pair_turn(i) - 8;
        if (turn % 2 == 0) { two = couples[kSpread * (turn / 2)]; }
        *c = turn % 2 == 0 ? two.x : two.z;
        *t = turn % 2 == 0 ? two.y : two.w;
    });
}
template <int kPoints, int kSteps, int kSpread>
__device__ __forceinline__ void transform_by_table(float* re, float* im, const float2* factors) {
    transform_by_table<kPoints, kSteps, kSpread>(
        re, im, factors, [&](int i) { return four_from(reinterpret_cast<const float4*>(factors)[kSpread * i]); });
}

/// The factors that such a transform takes first.
template <int kSpread>
struct FirstFactors {
    float4 squares, roots;

    __device__ __forceinline__ explicit FirstFactors(const float2* factors)
        : squares(load_in_order(reinterpret_cast<const float4*>(factors))),
          roots(load_in_order(reinterpret_cast<const float4*>(factors) + kSpread)) {}

    template <int kPoints, int kSteps>
    __device__ __forceinline__ void transform(float* re, float* im, const float2* factors) const {
        transform_by_table<kPoints, kSteps, kSpread>(re, im, factors, [&](int i) {
            return four_from(i == 0 ? squares : i == 1 ? roots : reinterpret_cast<const float4*>(factors)[kSpread * i]);
        });
    }
};

/// Conjugates of kPoints values' products with a spectrum, and the first step of their transform; pair(i): factors of values 2i and
/// 2i + 1, which are points kPoints / 2 apart. finish_back() does the other steps.
template <int kPoints, class Pair>
__device__ __forceinline__ void multiply_and_step(float* x, float* y, const float* re, const float* im, const Pair& pair) {
    fft::for_each_index<0, kPoints / 2>([&](auto number) {
        constexpr int i = 2 * decltype(number)::value;
        constexpr int r = fft::reversed(i, fft::log2_of(kPoints));
        const float4 h = pair(i / 2);
        const float a_re = re[i] * h.x - im[i] * h.y;
        const float a_im = -re[i] * h.y - im[i] * h.x;
        x[r] = fmaf(-im[i + 1], h.w, fmaf(re[i + 1], h.z, a_re));
        y[r] = fmaf(-im[i + 1], h.z, fmaf(-re[i + 1], h.w, a_im));
        x[r + kPoints / 2] = fmaf(2.0F, a_re, -x[r]);
        y[r + kPoints / 2] = fmaf(2.0F, a_im, -y[r]);
    });
}
template <int kPoints>
__device__ __forceinline__ void finish_back(float* re, float* im) {
    fft::transform<kPoints, 0, 1, 1, 2>(re, im);
    fft::transform_in_fours<kPoints, 0, 1, 2>(re, im);
}

}  // namespace tapline::cuda::overlap_save
