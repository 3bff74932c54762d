// As overlap_save_long_row.cuh for causal filters and enough rows for all multiprocessors: one block, half a row at a time.
#pragma once

#include "cuda/families/overlap_save/row/overlap_save_long_row.cuh"

namespace tapline::cuda::overlap_save {

/// What the threads read of the halves' places; one thread writes each part while no other reads it. In registers it would go to
/// local memory, which comes from the L2 cache where shared memory leaves the first level no room.
struct HalvesInTurn {
    // Until the samples have been exchanged.
    std::int64_t row_in;  // -1: no more
    int half_in;
    std::uint32_t turn;
    // From there to the second exchange of all.
    const float4* spectrum;
    int half;
    // From there on.
    int half_out;
    std::int64_t row_out;

    const float4* next_spectrum;

    __device__ __forceinline__ void take(const Arguments& a, const Segments& g, std::uint32_t next_turn, const float4* spectra) {
        turn = next_turn;
        half_in = 0;
        row_in = -1;
        if (next_turn < a.rows) {
            const RowInTurn place = RowInTurn::at(g, a.rows, next_turn);
            row_in = place.row;
            next_spectrum = spectra + place.filter(g) * (kLongRowPoints / 2);
        }
    }
};
static_assert(sizeof(HalvesInTurn) <= kLongRowTurnBytes);

/// A row's samples lo and hi, each half of 32,768, and the taps' halves likewise: the outputs are lo * h_lo, then hi * h_lo + lo *
/// h_hi, in whose place and with what lo * h_lo leaves for the second half stands lo * (h_hi - i h_lo): of products modulo
/// X^16384 - i, real parts are outputs. So two transforms of 16,384 real samples take the place of one of 32,768 by two blocks
/// that wait for each other, with a step less, half the multiply-adds in the first steps, half the loads, and three products for
/// two. Products of the first half wait for the second in shared memory, kCausalRowKept of a thread's 16 pairs, and in the L2
/// cache. (64, 768, 32768) bf16 8.55 ms (then; 8.26 now), by clusters 9.12; with 2 pairs in shared memory 8.76.
///
/// Where blocks have runs of rows, 132 pairs of spectra, 34 MB, leave the L2 cache: 11.5 ms.
template <class S, bool kWhole>
__global__ void __launch_bounds__(kLongRowThreads, 1)
    overlap_save_causal_row_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    constexpr int kHalf = kLongRowPoints / 2;
    const int thread = static_cast<int>(threadIdx.x);
    // As in overlap_save_long_row_kernel.
    const auto again = [](int number) {
        asm volatile("" : "+r"(number));
        return number;
    };

    extern __shared__ uint4 shared[];
    float2* const of_lanes_table = reinterpret_cast<float2*>(shared);
    float2* const own_tables = of_lanes_table + kLongRowLanes;
    float2* const points = own_tables + kCausalRowTable;
    float4* const kept = reinterpret_cast<float4*>(points + 16 * kLongRowRegion);
    CopyBarrier* const points_are_free = reinterpret_cast<CopyBarrier*>(kept + kCausalRowKept * kLongRowThreads);
    HalvesInTurn* const places = reinterpret_cast<HalvesInTurn*>(points_are_free + 2);
    const auto* const tables = static_cast<const float2*>(g.tables);
    copy_by_block(of_lanes_table, tables, kLongRowLanes + kCausalRowTable);
    if (thread == 0) {
        initialize(points_are_free, 16);
        places->take(a, g, blockIdx.x, reinterpret_cast<const float4*>(tables + kLongRowLanes + kCausalRowTable));
        places->spectrum = places->next_spectrum;
        places->half = 0;
    }
    __syncthreads();

    const bool whole = kWhole || (g.zero_edges != 0 && a.in_last == kLongRowPoints);
    while (true) {
        const int divides = again(thread);
        const std::int64_t row_in = places->row_in;
        if (row_in < 0) { break; }
        const int place = places->half_in * kHalf + 2 * divides;
        const S* const in = static_cast<const S*>(a.in) + row_in * a.in_row + place;
        float re[32];
        float im[32];
        const auto read = [&](const auto& pair_at) {
#pragma unroll
            for (int j = 0; j < 16; ++j) {
                const float2 two = widen_pair<S>(pair_at(1024 * j));
                re[j] = two.x;
                re[16 + j] = two.y;
            }
        };
        if (whole) {
            read([&](int n) { return __ldg(reinterpret_cast<const PairOf<S>*>(in + n)); });
        } else {
            const S* const samples = in - a.in_first;
            const auto sample = [&](int n) {
                const bool exists = place + n >= a.in_first && place + n < a.in_last;
                return exists ? __ldg(samples + n) : Element<S>::narrow(0.0F);
            };
            read([&](int n) { return pair_of(sample(n), sample(n + 1)); });
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            take_two_steps<16>(re + 16 * i, im + 16 * i);
            fft::transform_in_fours<16, 1, 2, 2>(re + 16 * i, im + 16 * i);
        }
        wait(points_are_free, places->half_in ^ 1);
        LongRowWarp::divide(points, divides, re, im);
        __syncthreads();
        if (thread == 0) {
            places->row_out = places->row_in;
            places->half_out = places->half;
            if (places->half == 0) {
                places->half_in = 1;
            } else {
                places->take(a, g, places->turn + gridDim.x,
                             reinterpret_cast<const float4*>(tables + kLongRowLanes + kCausalRowTable));
                if (whole && places->row_in >= 0) {
                    prefetch_bulk(static_cast<const S*>(a.in) + places->row_in * a.in_row,
                                  kLongRowPoints * static_cast<int>(sizeof(S)));
                }
            }
        }
        const int transforms = again(thread);
        const LongRowWarp own = LongRowWarp::at(points, own_tables, of_lanes_table, transforms);
        own.transform(re, im);
        float x[32];
        float y[32];
        const float4* const spectrum = places->spectrum + transforms / 32 * 512 + own.lane;
        float4* const in_shared = kept + transforms;
        float4* const in_global =
            static_cast<float4*>(g.kept) + static_cast<std::int64_t>(blockIdx.x) * (kCausalRowLeft * kLongRowThreads) + transforms;
        if (places->half == 0) {
            fft::for_each_index<0, 16>([&](auto number) {  // conjugates, as multiply_and_step() makes them
                constexpr int i = decltype(number)::value;
                const float4 h = __ldg(spectrum + kHalf / 2 + 32 * i);
                const float4 sum{re[2 * i] * h.x - im[2 * i] * h.y, -re[2 * i] * h.y - im[2 * i] * h.x,
                                 re[2 * i + 1] * h.z - im[2 * i + 1] * h.w, -re[2 * i + 1] * h.w - im[2 * i + 1] * h.z};
                if constexpr (i < kCausalRowKept) {
                    in_shared[i * kLongRowThreads] = sum;
                } else {
                    __stcg(in_global + (i - kCausalRowKept) * kLongRowThreads, sum);
                }
            });
            multiply_and_step<32>(x, y, re, im, [&](int pair) { return __ldg(spectrum + 32 * pair); });
        } else {
            fft::for_each_index<0, 16>([&](auto number) {
                constexpr int pair = decltype(number)::value;
                constexpr int i = 2 * pair;
                constexpr int r = fft::reversed(i, 5);
                const float4 h = __ldg(spectrum + 32 * pair);
                float4 sum;
                if constexpr (pair < kCausalRowKept) {
                    sum = in_shared[pair * kLongRowThreads];
                } else {
                    sum = __ldcg(in_global + (pair - kCausalRowKept) * kLongRowThreads);
                }
                const float a_re = fmaf(-im[i], h.y, fmaf(re[i], h.x, sum.x));
                const float a_im = fmaf(-im[i], h.x, fmaf(-re[i], h.y, sum.y));
                const float b_re = fmaf(-im[i + 1], h.w, fmaf(re[i + 1], h.z, sum.z));
                const float b_im = fmaf(-im[i + 1], h.z, fmaf(-re[i + 1], h.w, sum.w));
                x[r] = a_re + b_re;
                y[r] = a_im + b_im;
                x[r + 16] = a_re - b_re;
                y[r + 16] = a_im - b_im;
            });
        }
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = x[i];
            im[i] = y[i];
        }
        LongRowWarp::at(points, own_tables, of_lanes_table, again(thread)).transform_back(re, im);
        __syncthreads();
        if (thread == 0) {
            places->half = places->half_in;
            places->spectrum = places->next_spectrum;
        }
        const int completes = again(thread);
        LongRowWarp::put_together(re, im, points, completes, points_are_free);
        // The real parts of coefficients j times e^(-i (pi/2) j/16); the values are conjugates.
        fft::for_each_index<0, 16>([&](auto value) {
            constexpr int m = decltype(value)::value;
            constexpr int j = fft::reversed(m, 4);
            constexpr float kCosine = static_cast<float>(fft::cosine(std::numbers::pi * j / 32));
            constexpr float kSine = static_cast<float>(fft::sine(std::numbers::pi * j / 32));
            x[2 * j] = j == 0 ? re[m] : re[m] * kCosine - im[m] * kSine;
            x[2 * j + 1] = j == 0 ? re[16 + m] : re[16 + m] * kCosine - im[16 + m] * kSine;
        });
        const PairOutputs<S, kWhole> outputs{a, g, places->row_out, 2 * completes + places->half_out * kHalf};
        outputs.store(x);
    }
}

}  // namespace tapline::cuda::overlap_save
