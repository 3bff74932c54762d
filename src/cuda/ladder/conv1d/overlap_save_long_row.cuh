// As overlap_save_row.cuh for rows no longer than 32,768 samples: two blocks, each half of the frequencies.
#pragma once

#include "cuda/ladder/conv1d/overlap_save_row.cuh"
#include "cuda/primitives/cluster.cuh"

namespace tapline::cuda::overlap_save {

/// A row of M = 32,768 points, real numbers as in overlap_save_row_kernel, by a cluster of two blocks: block h has the remainder
/// modulo X^16384 - w, w = e^(i (pi/4 + pi h)), which it divides among 16 warps and transforms as overlap_save_kernel does. What it
/// gets back is r(h) = lo + w hi; the real parts of lo and hi are the outputs, and for each of them either block needs one real
/// number from the other.
template <class S>
__global__ void __launch_bounds__(kLongRowThreads, 1)
    overlap_save_long_row_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    constexpr int kHalf = kLongRowPoints / 2;
    const int half = cluster_rank();
    const int thread = static_cast<int>(threadIdx.x);
    const int warp = thread / 32;
    const int lane = thread % 32;

    extern __shared__ uint4 shared[];
    float2* const pairs = reinterpret_cast<float2*>(shared);
    float2* const own_tables = pairs + kPairs;
    float2* const points = own_tables + kLongRowHalfTable;
    float* const received = reinterpret_cast<float*>(points + 16 * kBufferPoints);
    const auto* tables = static_cast<const float2*>(g.tables);
    copy_by_block(pairs, tables, kPairs);
    copy_by_block(own_tables, tables + kPairs + half * kLongRowHalfTable, kLongRowHalfTable);
    __syncthreads();
    const float2* const division = own_tables;
    const float4* const turns = reinterpret_cast<const float4*>(own_tables + 16);  // to keep and to send
    const float2* const alpha = own_tables + 48 + warp * 16;
    const float2* const twists = own_tables + 48 + 256 + warp * 32;
    const float2 of_lane = own_tables[48 + 256 + 512 + thread];
    const auto* all_spectra =
        reinterpret_cast<const float4*>(tables + kPairs + 2 * kLongRowHalfTable) + (half * 16 + warp) * 512 + lane;
    float2* const own = points + warp * kBufferPoints;
    const BlockMemory<float> other(received, 1 - half);
    const float root = static_cast<float>(half == 0 ? std::numbers::sqrt2 / 2 : -std::numbers::sqrt2 / 2);

    PlaceInRun place = PlaceInRun::first(g, a.rows, blockIdx.x / 2);
    cluster_arrive();
    for (; place.exists(a.rows); place = place.next(g, a.rows)) {
        const float4* const spectrum = all_spectra + place.filter(g) * (kLongRowPoints / 2);
        const S* const samples = static_cast<const S*>(a.in) + place.row * a.in_row - a.in_first + thread;
        float re[32];
        float im[32];
        const auto read = [&](const auto& sample_of) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
#pragma unroll
                for (int j = 0; j < 16; ++j) {
                    re[16 * i + j] = sample_of(512 * i + 1024 * j);
                    im[16 * i + j] = sample_of(512 * i + 1024 * j + kHalf);
                }
            }
        };
        if (a.in_first == 0 && a.in_last == kLongRowPoints) {
            read([&](int n) { return Element<S>::widen(__ldg(samples + n)); });
        } else {
            read([&](int n) {
                return thread + n >= a.in_first && thread + n < a.in_last ? Element<S>::widen(__ldg(samples + n)) : 0.0F;
            });
        }
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            im[i] *= root;
            re[i] += im[i];
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            fft::transform_by<16>(re + 16 * i, im + 16 * i, [&](int at, float* c, float* t) {
                *c = division[at].x;
                *t = division[at].y;
            });
#pragma unroll
            for (int j = 0; j < 16; ++j) { points[j * kBufferPoints + thread + 512 * i] = float2{re[16 * i + j], im[16 * i + j]}; }
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = own[32 * i + lane].x;
            im[i] = own[32 * i + lane].y;
        }
        __syncwarp();
        const auto exchange = [&] {
            fft::for_each_index<0, 32>([&](auto value) {
                constexpr int i = decltype(value)::value;
                own[fft::reversed(i, 5) * 33 + lane] = float2{re[i], im[i]};
            });
            __syncwarp();
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                re[i] = own[lane * 33 + i].x;
                im[i] = own[lane * 33 + i].y;
            }
            __syncwarp();
        };
        const auto of_lanes = [&](int i, float* c, float* t) {
            *c = pairs[32 * i + lane].x;
            *t = pairs[32 * i + lane].y;
        };
        fft::transform_by<32>(re, im, [&](int i, float* c, float* t) {
            *c = alpha[i].x;
            *t = alpha[i].y;
        });
#pragma unroll
        for (int i = 0; i < 32; ++i) { multiply(re[i], im[i], of_lane); }
        exchange();
        fft::transform_by<32>(re, im, of_lanes);
        float x[32];
        float y[32];
        fft::for_each_index<0, 16>([&](auto pair) {  // conjugates of the products
            constexpr int i = 2 * decltype(pair)::value;
            constexpr int kFirst = fft::reversed(i, 5);
            constexpr int kSecond = fft::reversed(i + 1, 5);
            const float4 h = __ldg(spectrum + 32 * (i / 2));
            x[kFirst] = re[i] * h.x - im[i] * h.y;
            y[kFirst] = -re[i] * h.y - im[i] * h.x;
            x[kSecond] = re[i + 1] * h.z - im[i + 1] * h.w;
            y[kSecond] = -re[i + 1] * h.w - im[i + 1] * h.z;
        });
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = x[i];
            im[i] = y[i];
        }
        fft::transform<32>(re, im);
        exchange();
        fft::transform_by<32>(re, im, of_lanes);
        fft::for_each_index<0, 32>([&](auto value) {
            constexpr int i = decltype(value)::value;
            constexpr int r = fft::reversed(i, 5);
            float2 w = twists[r];
            multiply(w.x, w.y, of_lane);
            multiply(re[i], im[i], w);
            own[32 * r + lane] = float2{re[i], im[i]};
        });
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            fft::for_each_index<0, 16>([&](auto value) {
                constexpr int j = decltype(value)::value;
                const float2 p = points[fft::reversed(j, 4) * kBufferPoints + thread + 512 * i];
                re[16 * i + j] = p.x;
                im[16 * i + j] = p.y;
            });
            fft::transform<16>(re + 16 * i, im + 16 * i);
        }
        cluster_wait();  // the other has read what it received
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            fft::for_each_index<0, 16>([&](auto value) {
                constexpr int m = decltype(value)::value;
                constexpr int j = fft::reversed(m, 4);
                const float4 w = turns[j];
                x[i + 2 * j] = re[16 * i + m] * w.x - im[16 * i + m] * w.y;
                other.store(thread + 512 * i + 1024 * j, re[16 * i + m] * w.z - im[16 * i + m] * w.w);
            });
        }
        cluster_arrive();
        cluster_wait();
#pragma unroll
        for (int i = 0; i < 32; ++i) { x[i] += received[thread + 512 * i]; }
        cluster_arrive();
        const RowOutputs<S, kLongRowPoints, 32, 512, false> outputs{a, g, place.row, thread + half * kHalf};
        outputs.store(x);
    }
    cluster_wait();
}

}  // namespace tapline::cuda::overlap_save
