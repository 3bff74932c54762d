// As overlap_save_row.cuh for rows no longer than 32,768 samples: two blocks, each half of the frequencies.
#pragma once

#include "cuda/families/overlap_save/row/overlap_save_row.cuh"
#include "cuda/primitives/cluster.cuh"

namespace tapline::cuda::overlap_save {

/// Two neighbouring samples or outputs.
template <class S>
using PairOf = std::conditional_t<sizeof(S) == 2, std::uint32_t, float2>;

template <class S>
__device__ __forceinline__ float2 widen_pair(PairOf<S> pair) {
    if constexpr (sizeof(S) == 4) {
        return pair;
    } else if constexpr (std::is_same_v<S, __nv_bfloat16>) {
        return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
    } else {
        __half2 halves;
        memcpy(&halves, &pair, 4);
        return __half22float2(halves);
    }
}
template <class S>
__device__ __forceinline__ PairOf<S> pair_of(S first, S second) {
    const S two[2] = {first, second};
    PairOf<S> pair;
    memcpy(&pair, two, sizeof pair);
    return pair;
}

/// Outputs `mine` + i + 1024 j of a row, i < 2, j < 16, in register i + 2 j.
template <class S, bool kWhole>
struct PairOutputs {
    const Arguments& a;
    const Segments& g;
    std::int64_t row;
    int mine;

    __device__ __forceinline__ void store(float* y) const {
        // Every output depends on every sample, so that one tells of all.
        const bool repair = __any_sync(0xffffffffu, !(fabsf(y[0]) <= Limits<float>::kMost));
        if (!kWhole && a.plain_store == 0) { finish_outputs<32>(a, y); }
        S* out = static_cast<S*>(a.out) + row * a.out_row + mine - a.first;
        int n = mine;
        hide(out, n);
        if (kWhole ||
            (a.first == 0 && a.count == kLongRowPoints && reinterpret_cast<std::uintptr_t>(out) % sizeof(PairOf<S>) == 0)) {
#pragma unroll
            for (int j = 0; j < 16; ++j) {
                store_past(reinterpret_cast<PairOf<S>*>(out + 1024 * j),
                           pair_of(Element<S>::narrow(y[2 * j]), Element<S>::narrow(y[2 * j + 1])));
            }
        } else {
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                const int at = i % 2 + i / 2 * 1024;
                if (n + at >= a.first && n + at < a.first + a.count) { __stcs(out + at, Element<S>::narrow(y[i])); }
            }
        }
        if (repair) { store_directly(a, g, row, mine); }
    }

private:
    // Of no object, which would be put into local memory for the call, whether it comes to that or not.
    static __device__ __noinline__ void store_directly(const Arguments& a, const Segments& g, std::int64_t row, int mine) {
        S* const out = static_cast<S*>(a.out) + row * a.out_row;
        for (int i = 0; i < 32; ++i) {
            const std::int64_t o = mine + i % 2 + i / 2 * 1024 - a.first;
            if (o >= 0 && o < a.count) { out[o] = Element<S>::narrow(finish(a, direct_sum<S, float>(a, g, row, o))); }
        }
    }
};

/// A cluster's row and its filter, the first row with which is `column`. Rows with one filter come after each other, and the
/// clusters take them in turn: all read one or two spectra of 256 KB, which come from the L2 cache. With a run of rows for each
/// cluster there are as many spectra in use as clusters, 17 MB beside samples and outputs, and many are read from memory
/// again: 9.48 ms instead of 9.12.
struct RowInTurn {
    std::int64_t row;
    std::uint32_t turn;
    std::uint32_t column;

    static __device__ __forceinline__ RowInTurn at(const Segments& g, std::int64_t rows, std::uint32_t turn) {
        const auto filters = static_cast<std::uint32_t>(min(g.filters, rows));
        const std::uint32_t each = static_cast<std::uint32_t>(rows) / filters;
        const std::uint32_t of_longer =
            (static_cast<std::uint32_t>(rows) - each * filters) * (each + 1);  // filters with a row more
        const bool longer = turn < of_longer;
        const std::uint32_t length = longer ? each + 1 : each;
        const std::uint32_t in_group = longer ? turn : turn - of_longer;
        const std::uint32_t group = in_group / length;
        const std::uint32_t column = group + (longer ? 0 : of_longer / (each + 1));
        return {column + (in_group - group * length) * g.filters, turn, column};
    }
    [[nodiscard]] __device__ __forceinline__ bool exists(std::int64_t rows) const { return turn < rows; }
    [[nodiscard]] __device__ __forceinline__ std::int64_t filter(const Segments& g) const {
        const std::int64_t f = g.first_filter + column;
        return f >= g.filters ? f - g.filters : f;
    }
};

/// What a thread of a long row's block does with its 32 values: between two barriers with its warp those of one remainder modulo
/// X^1024 - e^(i alpha), at either end with all warps those of points that are divided among them.
struct LongRowWarp {
    float2* own;  // the warp's points
    const float2* factors;
    const float2* twiddles;  // of a row; shears of lanes are 512 further
    const float2* of_lanes;
    int lane;

    /// `tables`: the warps' factors, then their twiddles.
    static __device__ __forceinline__ LongRowWarp at(float2* points, const float2* tables, const float2* of_lanes_table,
                                                     int thread) {
        const int lane = thread % 32;
        return {points + thread / 32 * kLongRowRegion, tables + thread / 32 * fft::kFactorsOf32,
                tables + 16 * fft::kFactorsOf32 + thread / 32 * 32, of_lanes_table + 2 * lane, lane};
    }

    /// From points to the remainder's transform. Here and below points and first factors are read in the order in which they are
    /// taken: (64, 768, 32768) bf16 by halves 8.40 ms instead of 8.71; and 8.26 since nothing goes to local memory.
    __device__ __forceinline__ void transform(float (&re)[32], float (&im)[32]) const {
        const FirstFactors<1> first(factors);
#pragma unroll
        for (int n = 0; n < 32; ++n) {
            const int i = taken_at<32>(n);
            const float2 point = load_in_order(own + 32 * i + lane);
            re[i] = point.x;
            im[i] = point.y;
        }
        __syncwarp();
        first.transform<32, 5>(re, im, factors);
        const float2 of_lane = twiddles[512 + lane];
#pragma unroll
        for (int i = 0; i < 32; ++i) { rotate_back(re[i], im[i], float2{-of_lane.x, -of_lane.y}); }
        exchange_and_transform(re, im);
    }

    /// The way back, after the first step of it.
    __device__ __forceinline__ void transform_back(float (&re)[32], float (&im)[32]) const {
        finish_back<32>(re, im);
        exchange_and_transform(re, im);
        const float2 of_lane = twiddles[512 + lane];
        fft::for_each_index<0, 16>([&](auto couple) {
            constexpr int r = 2 * decltype(couple)::value;
            const float4 two = reinterpret_cast<const float4*>(twiddles)[r / 2];
            const auto turn_and_store = [&](int i, int row, float c, float t) {
                multiply_back(re[i], im[i], float2{c, -t});
                rotate_back(re[i], im[i], float2{-of_lane.x, -of_lane.y});
                own[32 * row + lane] = float2{re[i], im[i]};
            };
            turn_and_store(fft::reversed(r, 5), r, two.x, two.y);
            turn_and_store(fft::reversed(r + 1, 5), r + 1, two.z, two.w);
        });
    }

    /// To the warps' places, two neighbouring points of each.
    static __device__ __forceinline__ void divide(float2* points, int thread, const float (&re)[32], const float (&im)[32]) {
#pragma unroll
        for (int j = 0; j < 16; ++j) {
            *reinterpret_cast<float4*>(points + j * kLongRowRegion + 2 * thread) = float4{re[j], im[j], re[16 + j], im[16 + j]};
        }
    }

    /// From there, and the last steps back.
    static __device__ __forceinline__ void put_together(float (&re)[32], float (&im)[32], const float2* points, int thread,
                                                        CopyBarrier* points_are_free) {
        fft::for_each_index<0, 16>([&](auto number) {
            constexpr int j = taken_at<16>(decltype(number)::value);
            const float4 two =
                load_in_order(reinterpret_cast<const float4*>(points + fft::reversed(j, 4) * kLongRowRegion + 2 * thread));
            re[j] = two.x;
            im[j] = two.y;
            re[16 + j] = two.z;
            im[16 + j] = two.w;
        });
        __syncwarp();
        if (thread % 32 == 0) { arrive(points_are_free); }
        fft::transform_in_fours<16>(re, im);
        fft::transform_in_fours<16>(re + 16, im + 16);
    }

private:
    __device__ __forceinline__ void exchange_and_transform(float (&re)[32], float (&im)[32]) const {
        fft::for_each_index<0, 32>([&](auto value) {
            constexpr int i = decltype(value)::value;
            own[fft::reversed(i, 5) * kExchangeRow<float2> + lane] = float2{re[i], im[i]};
        });
        __syncwarp();
        const FirstFactors<32> first(of_lanes);
#pragma unroll
        for (int n = 0; n < 16; ++n) {
            const int i = 2 * taken_at<16>(n);
            const float4 two = load_in_order(reinterpret_cast<const float4*>(own + lane * kExchangeRow<float2> + i));
            re[i] = two.x;
            im[i] = two.y;
            re[i + 1] = two.z;
            im[i + 1] = two.w;
        }
        __syncwarp();
        first.transform<32, 5>(re, im, of_lanes);
    }
};

/// A row of M = 32,768 points, real numbers as in overlap_save_row_kernel, by a cluster of two blocks: block h has the remainder
/// modulo X^16384 - w, w = e^(i (pi/4 + pi h)), which it divides among 16 warps and transforms as overlap_save_kernel does. What it
/// gets back is r(h) = lo + w hi; the real parts of lo and hi are the outputs, and for each of them either block needs one real
/// number from the other. A thread divides and puts together two neighbouring points of each 1,024, so that samples, remainders and
/// outputs move in pairs: (64, 768, 32768) bf16 10.82 ms, by points 512 apart 11.51; 10.41 with the next row's samples prefetched
/// and without waiting for outputs on their way at a barrier. What a warp sends is counted where it arrives, and only the same warp
/// of the other block waits for it: with two steps of a transform at once 9.8 ms, and 9.5 with addresses made anew where they are
/// needed, so that fewer registers go to local memory.
template <class S, bool kWhole>
__global__ void __launch_bounds__(kLongRowThreads, 1)
    overlap_save_long_row_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    constexpr int kHalf = kLongRowPoints / 2;
    const int half = cluster_rank();
    const int thread = static_cast<int>(threadIdx.x);
    // The thread's number as something new: its addresses of one part of the loop would else be kept during the others, where there
    // are no registers for them.
    const auto again = [](int number) {
        asm volatile("" : "+r"(number));
        return number;
    };

    extern __shared__ uint4 shared[];
    float2* const of_lanes_table = reinterpret_cast<float2*>(shared);
    float2* const own_tables = of_lanes_table + kLongRowLanes;
    float2* const points = own_tables + kLongRowHalfTable;
    float4* const received = reinterpret_cast<float4*>(points + 16 * kLongRowRegion);
    CopyBarrier* const barriers = reinterpret_cast<CopyBarrier*>(received + kHalf / 4);
    const auto* tables = static_cast<const float2*>(g.tables);
    copy_by_block(of_lanes_table, tables, kLongRowLanes);
    copy_by_block(own_tables, tables + kLongRowLanes + half * kLongRowHalfTable, kLongRowHalfTable);
    if (thread < kLongRowBarriers) { initialize(barriers + thread, thread < 32 ? 1 : 16); }
    CopyBarrier* const points_are_free = barriers + 32;
    __syncthreads();
    const float4* const division = reinterpret_cast<const float4*>(own_tables);
    const float4* const turns = reinterpret_cast<const float4*>(own_tables + 16);  // to keep and to send
    const float root = static_cast<float>(half == 0 ? std::numbers::sqrt2 / 2 : -std::numbers::sqrt2 / 2);

    const bool whole = kWhole || (g.zero_edges != 0 && a.in_last == kLongRowPoints);
    // This row's place and the next one's, in turn: in registers it would make others go to local memory.
    RowInTurn* const places = reinterpret_cast<RowInTurn*>(barriers + kLongRowBarriers);
    if (thread == 0) { places[0] = RowInTurn::at(g, a.rows, blockIdx.x / 2); }
    __syncthreads();
    cluster_arrive();
    cluster_wait();
    for (std::uint32_t phase = 0; places[phase].exists(a.rows); phase ^= 1) {
        const int divides = again(thread);
        const S* const in = static_cast<const S*>(a.in) + places[phase].row * a.in_row;
        float re[32];
        float im[32];
        const auto read = [&](const auto& pair_at) {
#pragma unroll
            for (int j = 0; j < 16; ++j) {
                const float2 low = widen_pair<S>(pair_at(1024 * j));
                const float2 high = widen_pair<S>(pair_at(1024 * j + kHalf));
                re[j] = low.x;
                re[16 + j] = low.y;
                im[j] = high.x;
                im[16 + j] = high.y;
            }
        };
        if (whole) {
            const auto* const pairs_of_row = reinterpret_cast<const PairOf<S>*>(in) + divides;
            read([&](int n) { return __ldg(pairs_of_row + n / 2); });
        } else {
            const S* const samples = in - a.in_first + 2 * divides;
            const auto sample = [&](int n) {
                const bool exists = 2 * divides + n >= a.in_first && 2 * divides + n < a.in_last;
                return exists ? __ldg(samples + n) : Element<S>::narrow(0.0F);
            };
            read([&](int n) { return pair_of(sample(n), sample(n + 1)); });
        }
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            im[i] *= root;
            re[i] += im[i];
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            fft::four_steps_by<16>(re + 16 * i, im + 16 * i, [&](int at) { return four_from(division[at]); });
        }
        wait(points_are_free, phase ^ 1);
        LongRowWarp::divide(points, divides, re, im);
        __syncthreads();
        if (thread == 0) {
            const RowInTurn next = RowInTurn::at(g, a.rows, places[phase].turn + gridDim.x / 2);
            places[phase ^ 1] = next;
            // Each block of the next row's samples its half, by one instruction: addresses of all threads would take registers.
            if (whole && next.exists(a.rows)) {
                prefetch_bulk(static_cast<const S*>(a.in) + next.row * a.in_row + cluster_rank() * kHalf,
                              kHalf * static_cast<int>(sizeof(S)));
            }
        }
        const int transforms = again(thread);
        const LongRowWarp own = LongRowWarp::at(points, own_tables + 48, of_lanes_table, transforms);
        own.transform(re, im);
        float x[32];
        float y[32];
        const auto* const spectrum = reinterpret_cast<const float4*>(tables + kLongRowLanes + 2 * kLongRowHalfTable) +
                                     places[phase].filter(g) * (kLongRowPoints / 2) +
                                     (cluster_rank() * 16 + transforms / 32) * 512 + own.lane;
        multiply_and_step<32>(x, y, re, im, [&](int pair) { return __ldg(spectrum + 32 * pair); });
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = x[i];
            im[i] = y[i];
        }
        own.transform_back(re, im);
        __syncthreads();
        const int completes = again(thread);
        CopyBarrier* const has_received = barriers + completes / 32;
        CopyBarrier* const may_send = has_received + 16;
        LongRowWarp::put_together(re, im, points, completes, points_are_free);
        const OtherBlock other(shared, 1 - cluster_rank());
        wait(may_send, phase ^ 1);  // the other has read what it received
        if (completes % 32 == 0) { expect_bytes(has_received, 32 * 16 * sizeof(float2)); }
        fft::for_each_index<0, 8>([&](auto value) {
            constexpr int m = decltype(value)::value;
            constexpr int j = fft::reversed(m, 4);
            float sent[4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int from = m + 8 * i;
                const float4 w = turns[j + i];
                x[2 * (j + i)] = re[from] * w.x - im[from] * w.y;
                x[2 * (j + i) + 1] = re[16 + from] * w.x - im[16 + from] * w.y;
                sent[2 * i] = re[from] * w.z - im[from] * w.w;
                sent[2 * i + 1] = re[16 + from] * w.z - im[16 + from] * w.w;
            }
            other.store_counted(received + completes + 512 * (j / 2), float4{sent[0], sent[1], sent[2], sent[3]}, has_received);
        });
        wait(has_received, phase);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const float4 four = received[completes + 512 * j];
            x[4 * j] += four.x;
            x[4 * j + 1] += four.y;
            x[4 * j + 2] += four.z;
            x[4 * j + 3] += four.w;
        }
        __syncwarp();
        if (completes % 32 == 0) { other.arrive(may_send); }
        const std::int64_t row = places[phase].row;
        const PairOutputs<S, kWhole> outputs{a, g, row, 2 * completes + cluster_rank() * kHalf};
        outputs.store(x);
    }
    // Neither leaves while the other stores to it.
    cluster_arrive();
    cluster_wait();
}

}  // namespace tapline::cuda::overlap_save
