// Rows of large segments: how they come from the ring to registers and go back.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_columns.cuh"
#include "cuda/families/overlap_save/large/overlap_save_large_task.cuh"

namespace tapline::cuda::overlap_save {

/// Where a thread stands in a task of rows: 8 / kWarps rows of 1,024 kWarps points.
template <int kWarps, class Point>
struct RowOfTile {
    int lane, in_block, thread, warp;  // the row's number in the block; thread and warp of the row
    Point* row;
    Point* points;  // its part of the exchange

    __device__ __forceinline__ RowOfTile(Point* rows, Point* exchange) : RowOfTile(rows, exchange, thread_anew()) {}

    /// The warps' remainders of the row.
    template <class T>
    __device__ __forceinline__ void take_apart(T (&re)[32], T (&im)[32]) const {
        if constexpr (kPaired) {
#pragma unroll
            for (int i = 0; i < kPairs; ++i) {
#pragma unroll
                for (int j = 0; j < kWarps; ++j) {
                    const float4 two = __ldcg(reinterpret_cast<const float4*>(row + kPoints * j) + place_of_pair(i));
                    take_pair(re, im, kWarps * i + j, two);
                }
            }
            Whole::transform_there(re, im);
#pragma unroll
            for (int i = 0; i < kPairs; ++i) {
#pragma unroll
                for (int j = 0; j < kWarps; ++j) { pairs_of(j)[place_of_pair(i)] = pair_at(re, im, kWarps * i + j); }
            }
            sync_segment<kWarps>(in_block);
            const Point* const own = points + warp * kRegion + lane;
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                re[i] = own[32 * i].x;
                im[i] = own[32 * i].y;
            }
            __syncwarp();
        } else {
            const auto load = [&](int c, int t, T& x, T& y) {
                const Point p = __ldcg(row + c + t);
                x = p.x;
                y = p.y;
            };
            Whole::take_apart(re, im, points, thread, in_block, load, [] {});
        }
    }
    /// From there to the row.
    template <class T>
    __device__ __forceinline__ void put_together(T (&re)[32], T (&im)[32]) const {
        if constexpr (kPaired) {
            Point* const own = points + warp * kRegion + lane;
#pragma unroll
            for (int i = 0; i < 32; ++i) { own[32 * i] = Point{re[i], im[i]}; }
            sync_segment<kWarps>(in_block);
            fft::for_each_index<0, 16>([&](auto value) {
                constexpr int i = decltype(value)::value / kWarps;
                constexpr int j = decltype(value)::value % kWarps;
                take_pair(re, im, kWarps * i + j, pairs_of(fft::reversed(j, kBits))[place_of_pair(i)]);
            });
            Whole::transform_back(re, im);
            fft::for_each_index<0, 16>([&](auto value) {
                constexpr int i = decltype(value)::value / kWarps;
                constexpr int j = decltype(value)::value % kWarps;
                constexpr int r = kWarps * i + fft::reversed(j, kBits);
                __stcg(reinterpret_cast<float4*>(row + kPoints * j) + place_of_pair(i), pair_at(re, im, r));
            });
        } else {
            Whole::put_together(re, im, points, thread, in_block, [] {});
            fft::for_each_index<0, 32>([&](auto output) {
                constexpr int u = decltype(output)::value;
                constexpr int r = Whole::held(u);
                __stcg(row + Whole::first(thread) + Whole::offset(u), Point{re[r], im[r]});
            });
        }
    }

private:
    __device__ __forceinline__ RowOfTile(Point* rows, Point* exchange, int of_block)
        : lane(of_block % 32),
          in_block(of_block / (32 * kWarps)),
          thread(of_block % (32 * kWarps)),
          warp(kWarps == 1 ? 0 : thread / 32),
          row(rows + in_block * kWarps * kPoints),
          points(exchange + in_block * kWarps * kRegion) {}

    // Of several warps and points in float a thread transforms two neighbours of each 1,024 points, in registers r and 16 + r, so
    // that they move in pairs: 262,143 taps, 2^28 samples 1,832 us instead of 1,859.
    static constexpr bool kPaired = kWarps > 1 && sizeof(Point) == 8;
    static constexpr int kRegion = kExchangePoints<Point>;
    static constexpr int kBits = fft::log2_of(kWarps);
    static constexpr int kPairs = 16 / kWarps;
    using Whole = Division<kWarps, true, kRegion>;

    [[nodiscard]] __device__ __forceinline__ int place_of_pair(int i) const { return thread + 32 * kWarps * i; }
    [[nodiscard]] __device__ __forceinline__ float4* pairs_of(int part) const {
        return reinterpret_cast<float4*>(points + part * kRegion);
    }
};

/// What the lanes of a warp exchange in the middle of 32 x 32 points in float.
__device__ __forceinline__ void exchange_of_lanes(float (&re)[32], float (&im)[32], float2* own, int lane) {
    fft::for_each_index<0, 32>([&](auto value) {
        constexpr int i = decltype(value)::value;
        own[fft::reversed(i, 5) * kExchangeRow<float2> + lane] = float2{re[i], im[i]};
    });
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
        const float4 two = *reinterpret_cast<const float4*>(own + lane * kExchangeRow<float2> + i);
        re[i] = two.x;
        im[i] = two.y;
        re[i + 1] = two.z;
        im[i + 1] = two.w;
    }
}
/// A warp's transform of 32 x 32 points in float: point 32 i + lane in register i before, frequency 32 reversed(i) + lane after.
/// `factors`: the lane's. exchanged(): by all lanes once they have read what they exchanged.
template <class Exchanged>
__device__ __forceinline__ void transform_of_lanes(float (&re)[32], float (&im)[32], float2* own, int lane, const float2* factors,
                                                   const Exchanged& exchanged) {
    fft::transform_in_fours<32>(re, im);
    exchange_of_lanes(re, im, own, lane);
    exchanged();
    transform_by_table<32, 5, 32>(re, im, factors);
}

}  // namespace tapline::cuda::overlap_save
