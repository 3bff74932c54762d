// The first half of a long spectrum: the sums that spectrum_kernel forms of a run's terms, for all runs at once.
#pragma once

#include "cuda/families/overlap_save/overlap_save_spectrum_taps.cuh"

namespace tapline::cuda::overlap_save {

inline constexpr int kColumnThreads = 256;
inline constexpr int kColumnRuns = 8;  // of the first transforms

/// Columns of a block: neighbours' loads fill sectors, and its points 32 KB at most.
template <class T>
inline constexpr int kColumns = sizeof(T) == 4 ? 32 : 16;

/// Y[j] of run N, sum_q P[j + 1024 q] e^(i (phi + 2 pi N) q / L), 0 <= q, N < L = 8 kOthers, where the run's factors go: a
/// transform of each column j of the polynomial. With q = kOthers q1 + q2 and N = N1 + 8 N2 that are transforms of 8 over q1,
/// turned by e^(2 pi i N1 q2/L), then of kOthers over q2.
///
/// A block for each kColumns columns and spectrum. So every tap is read once, where a sum for each run reads all of them: of
/// 131,072 taps 128 times.
template <class T, int kOthers>
__global__ void __launch_bounds__(kColumnThreads) spectrum_columns_kernel(const __grid_constant__ SpectrumJob g) {
    using Point = typename PointOf<T>::Type;
    constexpr int kC = kColumns<T>;
    constexpr int kL = kColumnRuns * kOthers;
    __shared__ Point points[kColumnRuns][kOthers][kC];
    const int thread = static_cast<int>(threadIdx.x);
    const int column = thread % kC;
    const int first = kC * static_cast<int>(blockIdx.x);
    const OwnTaps taps(g, T{});
    const bool is_folded = g.is_complex == 0 && taps.count + taps.skip > kPoints * kL;
    const T sign = g.conjugated != 0 ? 1 : -1;
    for (int q2 = thread / kC; q2 < kOthers; q2 += kColumnThreads / kC) {
        T re[kColumnRuns];
        T im[kColumnRuns];
#pragma unroll
        for (int q1 = 0; q1 < kColumnRuns; ++q1) {
            const int q = kOthers * q1 + q2;
            const int t = first + column + kPoints * q - taps.skip;
            if (g.real_taps == 0) {
                re[q1] = part_of_tap<T, T, 2>(taps, t);
                im[q1] = sign * part_of_tap<T, T, 2>(taps, t, 1);
            } else {
                re[q1] = part_of_tap<T, T, 1>(taps, t);
                im[q1] = is_folded ? part_of_tap<T, T, 1>(taps, t + kPoints * kL) : T{};
            }
            if (g.is_complex == 0) { multiply(re[q1], im[q1], turn_of<T>(q, 4 * kL)); }
        }
        fft::transform<kColumnRuns>(re, im);
        fft::for_each_index<0, kColumnRuns>([&](auto at) {
            constexpr int m = decltype(at)::value;
            constexpr int n1 = fft::reversed(m, fft::log2_of(kColumnRuns));
            multiply(re[m], im[m], turn_of<T>(n1 * q2, kL));
            points[n1][q2][column] = {re[m], im[m]};
        });
    }
    __syncthreads();
    const std::int64_t spectrum = g.first_spectrum + static_cast<int>(blockIdx.y);
    auto* const to =
        reinterpret_cast<Point*>(static_cast<char*>(g.tables) + g.shape.ready_bytes) + spectrum * kPoints * kL + first + column;
    for (int n1 = thread / kC; n1 < kColumnRuns; n1 += kColumnThreads / kC) {
        T re[kOthers];
        T im[kOthers];
#pragma unroll
        for (int q2 = 0; q2 < kOthers; ++q2) {
            re[q2] = points[n1][q2][column].x;
            im[q2] = points[n1][q2][column].y;
        }
        fft::transform<kOthers>(re, im);
        fft::for_each_index<0, kOthers>([&](auto at) {
            constexpr int m = decltype(at)::value;
            const int number = n1 + kColumnRuns * fft::reversed(m, fft::log2_of(kOthers));
            to[kPoints * run_of(g.shape, number)] = {re[m], im[m]};
        });
    }
}

/// The kernel for so many runs; null: their sums are sooner formed one by one.
template <class T>
SpectrumKernel columns_kernel_of(int runs) {
    switch (runs) {
        case 32:
            return &spectrum_columns_kernel<T, 4>;
        case 64:
            return &spectrum_columns_kernel<T, 8>;
        case 128:
            return &spectrum_columns_kernel<T, 16>;
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda::overlap_save
