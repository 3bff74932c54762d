// Many spectra in float: a warp for each run of 1,024 points, 32 of them a lane in registers.
#pragma once

#include "cuda/families/overlap_save/overlap_save_spectrum_taps.cuh"

namespace tapline::cuda::overlap_save {

/// Of a run in shared memory: rows of 32 points lie so far apart that lanes read columns free of bank conflicts.
inline constexpr int kRunPitch = 33;
inline constexpr int kRunRegion = 32 * kRunPitch;

/// Warps of a block, each of which has a run at a time; kRuns: of a spectrum, 0 where spectrum_columns_kernel has formed their
/// sums.
template <int kRuns>
inline constexpr int kRunWarps = kRuns == 16 ? 16 : 8;
template <int kRuns>
inline constexpr int kRunBytes = (kPoints + kRunWarps<kRuns> * kRunRegion) * static_cast<int>(sizeof(float2));

__device__ __forceinline__ int region_place(int f) { return f / 32 * kRunPitch + f % 32; }

/// Y[j] of the runs of the block's spectra, one after the other in `regions`: sum_q P[j + 1024 q] e^(i (phi + 2 pi N) q / kRuns).
template <int kRuns>
__device__ __forceinline__ void form_sums(float2* regions, const SpectrumJob& g, int first_spectrum) {
    constexpr int kThreads = 32 * kRunWarps<kRuns>;
    const float sign = g.conjugated != 0 ? 1.0F : -1.0F;
    for (int own = 0; own < kRunWarps<kRuns> / kRuns; ++own) {
        if (first_spectrum + own >= g.spectra) { break; }
        const OwnTaps taps(g, float{}, first_spectrum + own);
        const bool is_folded = g.is_complex == 0 && taps.count + taps.skip > kPoints * kRuns;
        for (int j = static_cast<int>(threadIdx.x); j < kPoints; j += kThreads) {
            float re[kRuns];
            float im[kRuns];
            fft::for_each_index<0, kRuns>([&](auto at) {
                constexpr int q = decltype(at)::value;
                const int t = j + kPoints * q - taps.skip;
                if (g.real_taps == 0) {
                    re[q] = part_of_tap<float, float, 2>(taps, t);
                    im[q] = sign * part_of_tap<float, float, 2>(taps, t, 1);
                } else {
                    re[q] = part_of_tap<float, float, 1>(taps, t);
                    im[q] = is_folded ? part_of_tap<float, float, 1>(taps, t + kPoints * kRuns) : 0.0F;
                }
                if constexpr (q > 0) {
                    constexpr double kAngle = std::numbers::pi / 2 * q / kRuns;
                    constexpr float2 kTurn{static_cast<float>(fft::cosine(kAngle)), static_cast<float>(fft::sine(kAngle))};
                    if (g.is_complex == 0) { multiply(re[q], im[q], kTurn); }
                }
            });
            fft::transform<kRuns>(re, im);
            fft::for_each_index<0, kRuns>([&](auto at) {
                constexpr int m = decltype(at)::value;
                constexpr int n = fft::reversed(m, fft::log2_of(kRuns));
                regions[(own * kRuns + n) * kRunRegion + region_place(j)] = {re[m], im[m]};
            });
        }
    }
}

/// The discrete transform of Y[j] e^(i theta j), value 32 a + lane in element a, before; after it element m holds frequency
/// lane + 32 reversed(m). 1,024 are 32 times 32; the angles' other factors, e^(32 i theta a) of all lanes and e^(i theta lane), are
/// one lane's and one's own. `turn`: the latter. A warp has `region` to itself.
__device__ __forceinline__ void transform_run(float (&re)[32], float (&im)[32], float2* region, const float2* twiddles,
                                              const float2& turn, const float2& turn_of_rows) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int a = 0; a < 32; ++a) {
        const float2 w{__shfl_sync(~0U, turn_of_rows.x, a), __shfl_sync(~0U, turn_of_rows.y, a)};
        multiply(re[a], im[a], w);
    }
    fft::transform<32>(im, re);  // with the other sign
    fft::for_each_index<0, 32>([&](auto at) {
        constexpr int m = decltype(at)::value;
        constexpr int f = fft::reversed(m, 5);
        multiply(re[m], im[m], twiddles[32 * f + lane]);
        multiply(re[m], im[m], turn);
        region[f * kRunPitch + lane] = {re[m], im[m]};
    });
    __syncwarp();
#pragma unroll
    for (int b = 0; b < 32; ++b) {
        re[b] = region[lane * kRunPitch + b].x;
        im[b] = region[lane * kRunPitch + b].y;
    }
    __syncwarp();
    fft::transform<32>(im, re);
}

/// Writes a run's factors, element m being frequency lane + 32 reversed(m), where segments' kernels read them.
__device__ __forceinline__ void store_run(float2* to, const SpectrumJob& g, int run, const float (&re)[32], const float (&im)[32],
                                          const float2& turn) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    constexpr float kLeastCosine = 0x1p-30F;
    const bool turned = g.shape.for_block != 0 && g.shape.warps == 2 && run == 1 && g.is_complex == 0;
    const float share = 1.0F / static_cast<float>(kPoints * g.shape.rows * g.shape.warps);
    fft::for_each_index<0, 32>([&](auto at) {
        constexpr int m = decltype(at)::value;
        int row = fft::reversed(m, 5);
        float2 value{re[m], im[m]};
        if (g.shape.for_block != 0) {  // undo_lanes(), turn_rows() and as_tangents() of overlap_save_tables.hpp
            multiply(value.x, value.y, float2{turn.x, -turn.y});
            if (turned) {
                row = (row + 16) % 32;
                value = lane % 2 == 0 ? value : float2{-value.x, -value.y};
            }
            const bool is_small = !(fabsf(value.x) >= kLeastCosine * fabsf(value.y));
            const float c = is_small ? copysignf(kLeastCosine * fabsf(value.y), value.x) : value.x;
            value = {share * c, c == 0 ? 0 : __fdividef(value.y, c)};
        } else {
            value = {share * value.x, share * value.y};
        }
        const int place = g.shape.order == SpectrumOrder::couples  ? couple_place(row, lane)
                          : g.shape.order == SpectrumOrder::halves ? fft::halves_place(row, lane)
                                                                   : 32 * row + lane;
        to[run * kPoints + place] = value;
    });
}

/// The factors of kRuns runs in `regions`, by frequency, where kernels of whole rows read them that threads take as a square of
/// points: in the order of memory, as neighbours there are 4 frequencies of every run apart.
template <int kRuns>
__device__ __forceinline__ void store_square_row(float2* to, const float2* regions, int thread, int threads) {
    constexpr int kBits = kRuns == 1 ? 5 : 6;
    constexpr float kShare = 1.0F / (kPoints * kRuns);
    for (int place = thread; place < kPoints * kRuns; place += threads) {
        const int value = (place >> (kBits + 1) << 1) + place % 2;
        const int j = (place / 2 & ((1 << kBits) - 1)) + (fft::reversed(value, kBits) << kBits);
        const int number = j % kRuns;
        const int f = ((number - j) & (kPoints * kRuns - 1)) / kRuns;
        const float2 factor = regions[number * kRunRegion + region_place(f)];
        to[place] = {kShare * factor.y, -kShare * factor.x};  // z^-M of the powers moved, -i
    }
}

/// What spectrum_kernel does, sooner where spectra are many: (8, 768, 8192) samples of f32 on an H200, whose gradient of taps needs
/// 6,144 spectra of 8,192 points, 1.32 ms instead of 3.48.
template <int kRuns>
__global__ void __launch_bounds__(32 * kRunWarps<kRuns>) spectra_by_warps_kernel(const __grid_constant__ SpectrumJob g) {
    extern __shared__ float4 spectra_shared[];
    constexpr int kWarps = kRunWarps<kRuns>;
    auto* const twiddles = reinterpret_cast<float2*>(spectra_shared);
    float2* const regions = twiddles + kPoints;
    const int thread = static_cast<int>(threadIdx.x);
    const int warp = thread / 32;
    const int lane = thread % 32;
    const int runs = kRuns > 0 ? kRuns : g.shape.rows * g.shape.warps;
    for (int i = thread; i < kPoints; i += 32 * kWarps) { twiddles[i] = turn_of<float>(-(i / 32) * (i % 32), kPoints); }
    const std::int64_t all = std::int64_t{g.spectra} * runs;
    for (std::int64_t first = std::int64_t{blockIdx.x} * kWarps; first < all; first += std::int64_t{gridDim.x} * kWarps) {
        const auto spectrum = static_cast<int>((first + warp) / runs);
        const auto number = static_cast<int>((first + warp) % runs);
        auto* const to =
            reinterpret_cast<float2*>(static_cast<char*>(g.tables) + g.shape.ready_bytes) + std::int64_t{spectrum} * kPoints * runs;
        float2* const region = regions + warp * kRunRegion;
        const bool is_there = first + warp < all;
        const int run = run_of(g.shape, number);
        __syncthreads();
        if constexpr (kRuns > 0) {
            form_sums<kRuns>(regions, g, static_cast<int>(first / kRuns));
            __syncthreads();
        }
        float re[32];
        float im[32];
        const std::int64_t steps = 4 * number + (g.is_complex != 0 ? 0 : 1);
        const std::int64_t whole = std::int64_t{4} * kPoints * runs;
        const float2 turn = turn_of<float>(steps * lane, whole);
        if (is_there) {
#pragma unroll
            for (int a = 0; a < 32; ++a) {
                const float2 sum = kRuns > 0 ? region[a * kRunPitch + lane] : to[run * kPoints + 32 * a + lane];
                re[a] = sum.x;
                im[a] = sum.y;
            }
            __syncwarp();
            transform_run(re, im, region, twiddles, turn, turn_of<float>(steps * 32 * lane, whole));
        }
        if constexpr (kRuns == 1 || kRuns == 4) {
            if (g.of.lags > 0 && g.shape.order == SpectrumOrder::square_row) {
                if (is_there) {
                    fft::for_each_index<0, 32>([&](auto at) {
                        constexpr int m = decltype(at)::value;
                        region[fft::reversed(m, 5) * kRunPitch + lane] = {re[m], im[m]};
                    });
                }
                __syncthreads();
                if (is_there) { store_square_row<kRuns>(to, region - number * kRunRegion, 32 * number + lane, 32 * kRuns); }
                continue;
            }
        }
        if (!is_there) { continue; }
        if (g.of.lags > 0) {
            const float share = 1.0F / static_cast<float>(kPoints * runs);
            fft::for_each_index<0, 32>([&](auto at) {
                constexpr int m = decltype(at)::value;
                const int j = (number - (lane + 32 * fft::reversed(m, 5)) * runs) & (kPoints * runs - 1);
                to[place_of_row(g.shape.order, runs, j)] = {share * im[m], -share * re[m]};
            });
            continue;
        }
        store_run(to, g, run, re, im, turn);
    }
}

struct WarpsKernel {
    SpectrumKernel function = nullptr;
    int warps = 0, shared_bytes = 0;
};

template <int kRuns>
WarpsKernel warps_kernel() {
    return {&spectra_by_warps_kernel<kRuns>, kRunWarps<kRuns>, kRunBytes<kRuns>};
}

/// Of spectra of so many runs.
inline WarpsKernel warps_kernel_of(int runs) {
    switch (runs) {
        case 1:
            return warps_kernel<1>();
        case 2:
            return warps_kernel<2>();
        case 4:
            return warps_kernel<4>();
        case 8:
            return warps_kernel<8>();
        case 16:
            return warps_kernel<16>();
        default:
            return warps_kernel<0>();
    }
}

}  // namespace tapline::cuda::overlap_save
