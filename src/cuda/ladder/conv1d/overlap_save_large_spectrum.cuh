// The spectrum of large segments made by the kernel itself, of taps that came after the plan.
#pragma once

#include "cuda/ladder/conv1d/overlap_save_columns.cuh"
#include "cuda/primitives/bulk_copy.cuh"

namespace tapline::cuda::overlap_save {

/// Waits until `done` has counted up to `count`; all threads see what those that counted wrote before.
__device__ __forceinline__ void wait_for_count(const unsigned* done, unsigned count) {
    unsigned seen = 0;
    for (;;) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(done) : "memory");
#else
        seen = *static_cast<const volatile unsigned*>(done);
#endif
        if (seen >= count) { return; }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
        __nanosleep(64);
#endif
    }
}

/// Counts what the block's threads did before a barrier.
__device__ __forceinline__ void count_up(unsigned* done) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(done) : "memory");
#else
    __threadfence();
    atomicAdd(done, 1u);
#endif
}

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
        const auto load = [&](int c, int t, T& x, T& y) {
            const Point p = __ldcg(row + c + t);
            x = p.x;
            y = p.y;
        };
        Division<kWarps, true, kExchangePoints<Point>>::take_apart(re, im, points, thread, in_block, load, [] {});
    }

private:
    __device__ __forceinline__ RowOfTile(Point* rows, Point* exchange, int of_block)
        : lane(of_block % 32),
          in_block(of_block / (32 * kWarps)),
          thread(of_block % (32 * kWarps)),
          warp(kWarps == 1 ? 0 : thread / 32),
          row(rows + in_block * kWarps * kPoints),
          points(exchange + in_block * kWarps * kExchangePoints<Point>) {}
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

/// Row `first` / (1,024 kWarps) and those after it, 8,192 points, as convolve_rows() transforms them: the spectrum, in their place.
template <class T, int kWarps, class Point>
__device__ __forceinline__ void transform_rows_of_taps(Point* rows, int points_of_segment, Point* exchange, const Point* factors,
                                                       const Point* twists) {
    const RowOfTile<kWarps, Point> at(rows, exchange);
    const auto& [lane, in_block, thread, warp, row, points] = at;
    const TwistOf<Point, kWarps> twist_of(twists, thread);
    T re[32];
    T im[32];
    at.take_apart(re, im);
    if constexpr (kWarps > 1) {
#pragma unroll
        for (int i = 0; i < 32; ++i) { multiply(re[i], im[i], twist_of(i)); }
    }
    Point* const own = points + warp * kExchangePoints<Point>;
    const T share = T{1} / static_cast<T>(points_of_segment);
    if constexpr (sizeof(T) == 4) {
        transform_of_lanes(im, re, own, lane, factors + 2 * lane, [] { __syncwarp(); });
        auto* const to = reinterpret_cast<float4*>(row + warp * kPoints) + lane;  // as in_halves() orders them
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
            __stcg(to + 16 * i, float4{share * re[i], share * im[i], share * re[i + 1], share * im[i + 1]});
        }
    } else {
        const auto pair = [&](int i, T* c, T* t) {
            const Point p = factors[32 * i + lane];
            *c = p.x;
            *t = p.y;
        };
        transform_warp(im, re, own, lane, pair, [] { __syncwarp(); });
#pragma unroll
        for (int i = 0; i < 32; ++i) { __stcg(row + warp * kPoints + 32 * i + lane, Point{share * re[i], share * im[i]}); }
    }
    fence_before_global_copy();
}

/// By all blocks before their other tasks, in the order in which they come: columns first, and who had some does rows too. Later
/// tasks of rows wait for it, those of columns need not.
template <class S, int kRadix, int kWarps>
__device__ __noinline__ void make_spectrum(const Arguments& a, const LargeSegments& g, uint4* shared) {
    using Tile = Columns<S, kRadix, kWarps>;
    using Point = typename Tile::Point;
    int* const task_place = reinterpret_cast<int*>(shared);
    Point* const tables = reinterpret_cast<Point*>(shared + kLargeHeadBytes / 16);
    Point* const turns = tables + Tile::kTables.end;
    Point* const exchange = turns + Tile::kTurns;
    Tile tile(a, g, exchange, turns, tables);
    constexpr int kTasks = Tile::kM / kTilePoints;
    LargeState& state = *g.state;
    Point* const points = static_cast<Point*>(g.made_spectrum);
    const auto next_task = [&](int part) {
        if (threadIdx.x == 0) { *task_place = static_cast<int>(atomicAdd(state.next_of_taps + part, 1u)); }
        __syncthreads();
        const int task = *task_place;
        __syncthreads();
        return task;
    };
    bool did_some = false;
    for (int task = next_task(0); task < kTasks; task = next_task(0)) {
        tile.stand_at(task);
        tile.turn_to();
        tile.transform_taps(points);
        __syncthreads();
        if (threadIdx.x == 0) { count_up(state.taps_done); }
        did_some = true;
    }
    if (!did_some) { return; }
    for (int task = next_task(1); task < kTasks; task = next_task(1)) {
        if (threadIdx.x == 0) { wait_for_count(state.taps_done, kTasks); }
        __syncthreads();
        transform_rows_of_taps<typename Tile::T, kWarps>(points + task * kTilePoints, Tile::kM, exchange,
                                                         tables + Tile::kTables.rows, tables + Tile::kTables.twists);
        __syncthreads();
        if (threadIdx.x == 0) { count_up(state.taps_done + 1); }
    }
}

}  // namespace tapline::cuda::overlap_save
