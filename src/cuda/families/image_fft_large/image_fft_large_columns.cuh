// Columns of a tile's points: transformed, multiplied by the mask's spectrum, transformed back, where they lie.
#pragma once

#include "cuda/families/image_fft_large/image_fft_large_rows.cuh"

namespace tapline::cuda::image_fft_large_rung {

/// Where point (q, s) of a column lies, in points: neighbouring lanes have neighbouring columns, and where those are only eight, two
/// values of q or s.
template <class D>
__device__ __forceinline__ constexpr int down_place(int q, int s, int column) {
    const int place = (q * D::Down::kNear + s) * D::kWidth + column;
    return D::kWidth == 8 ? place ^ ((q & 1) * 8) : place;
}

template <class D>
__device__ __forceinline__ void go_down(const ImageArguments& a, const Passes& g, const Unit& unit, const Task& task, float2* shared) {
    using Down = typename D::Down;
    constexpr int kFar = Down::kFar;
    constexpr int kNear = Down::kNear;
    constexpr int kApart = kThreads / D::kWidth;
    constexpr int kParts = D::kPoints / D::kWidth;  // of a channel's tile
    const int column = static_cast<int>(threadIdx.x) % D::kWidth;
    const int number = static_cast<int>(threadIdx.x) / D::kWidth;
    const int channel = task.part / kParts;
    const int first = task.part % kParts * D::kWidth + column;
    float2* const points =
        g.points + ((static_cast<std::int64_t>(task.slot) << g.group_bits) + channel) * (D::kRows * D::kPoints) + first;
    const RowsThere there(a, unit.window, D::kRows);
    float re[32];
    float im[32];
#pragma unroll
    for (int v = 0; v < 32 / kFar; ++v) {
        const int s = number + kApart * v;
#pragma unroll
        for (int j = 0; j < kFar; ++j) {
            const int y = kNear * j + s;
            const float2 point =
                y >= there.first && y < there.last ? __ldcg(points + y * D::kPoints) : float2{0.0F, 0.0F};
            re[v * kFar + j] = point.x;
            im[v * kFar + j] = point.y;
        }
    }
#pragma unroll
    for (int v = 0; v < 32 / kFar; ++v) {
        const int s = number + kApart * v;
        float* const x = re + v * kFar;
        float* const y = im + v * kFar;
        fft::transform<kFar>(x, y);
        fft::for_each_index<0, kFar>([&](auto value) {
            constexpr int m = decltype(value)::value;
            shared[down_place<D>(fft::reversed(m, fft::log2_of(kFar)), s, column)] = {x[m], y[m]};
        });
    }
    __syncthreads();
    const float2* const spectrum = g.tables + D::kSpectra + (unit.channel + channel) * g.spectrum + first;
#pragma unroll
    for (int v = 0; v < 32 / kNear; ++v) {
        const int q = number + kApart * v;
        float x[kNear];
        float y[kNear];
#pragma unroll
        for (int s = 0; s < kNear; ++s) {
            const float2 point = shared[down_place<D>(q, s, column)];
            x[s] = point.x;
            y[s] = point.y;
        }
        fft::transform_by<kNear>(x, y, PairsOf<kFar>{g.tables + D::kPairsDownQ + q});
        float u[kNear];
        float w[kNear];
        fft::for_each_index<0, kNear>([&](auto value) {
            constexpr int m = decltype(value)::value;
            constexpr int t = fft::reversed(m, fft::log2_of(kNear));
            u[t] = x[m];
            w[t] = y[m];
            image_fft_rung::multiply(u[t], w[t], __ldcg(spectrum + (q + kFar * t) * D::kPoints));
        });
        fft::transform<kNear>(w, u);
        fft::for_each_index<0, kNear>([&](auto value) {
            constexpr int m = decltype(value)::value;
            shared[down_place<D>(q, fft::reversed(m, fft::log2_of(kNear)), column)] = {u[m], w[m]};
        });
    }
    __syncthreads();
#pragma unroll
    for (int v = 0; v < 32 / kFar; ++v) {
        const int s = number + kApart * v;
        float x[kFar];
        float y[kFar];
#pragma unroll
        for (int q = 0; q < kFar; ++q) {
            const float2 point = shared[down_place<D>(q, s, column)];
            x[q] = point.x;
            y[q] = point.y;
        }
        fft::transform_by<kFar>(y, x, PairsOf<kNear>{g.tables + D::kPairsDownS + s});
        fft::for_each_index<0, kFar>([&](auto value) {
            constexpr int m = decltype(value)::value;
            const int row = kNear * fft::reversed(m, fft::log2_of(kFar)) + s;
            if (row < g.out_rows) { points[row * D::kPoints] = {x[m], y[m]}; }
        });
    }
}

}  // namespace tapline::cuda::image_fft_large_rung
