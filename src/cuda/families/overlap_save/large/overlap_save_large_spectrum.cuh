// The spectrum of large segments made by the kernel itself, of taps that came after the plan.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_columns.cuh"
#include "cuda/families/overlap_save/large/overlap_save_large_task.cuh"

namespace tapline::cuda::overlap_save {

/// From taps to points: of the polynomial with the coefficients conj(taps[t]) at t + skip, as if these were samples. Puts the taps
/// where they are wanted in correlation order.
template <class Tile>
__device__ __forceinline__ void transform_taps(const Tile& tile, typename Tile::Point* at) {
    using T = typename Tile::T;
    constexpr bool kComplex = Tile::kComplex;
    constexpr int kM = Tile::kM;
    const LargeSegments& g = tile.g;
    T re[32];
    T im[32];
    const int k = static_cast<int>(tile.a.k);
    const int own = tile.point_of(0) - g.skip;
    const bool pairs = kComplex && g.real_taps == 0;
    const int step = (pairs ? 2 : 1) * (g.reversed != 0 ? -1 : 1);
    const T* const from = static_cast<const T*>(g.given) + (g.reversed != 0 ? k - 1 : 0) * (pairs ? 2 : 1) + own * step;
    const auto is_there = [&](int t) { return t >= 0 && t < k; };
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        const int offset = Tile::offset_of(i);
        re[i] = is_there(own + offset) ? from[offset * step] : T{};
        if constexpr (kComplex) {
            im[i] = pairs && is_there(own + offset) ? from[offset * step + 1] : T{};
        } else {
            im[i] = is_there(own + offset + kM) ? from[(offset + kM) * step] : T{};
        }
    }
    const bool turns_sign = pairs && g.conjugated == 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        const int t = own + Tile::offset_of(i);
        if (pairs) {
            im[i] = turns_sign ? -im[i] : im[i];
            if (is_there(t)) { static_cast<typename Tile::Point*>(g.made_taps)[t] = {re[i], -im[i]}; }
        } else {
            if (is_there(t)) { static_cast<T*>(g.made_taps)[t] = re[i]; }
            if (!kComplex && is_there(t + kM)) { static_cast<T*>(g.made_taps)[t + kM] = im[i]; }
        }
    }
    tile.transform_points(re, im, at);
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

/// Row `first` / (1,024 kWarps) and those after it, 8,192 points, as convolve_rows() transforms them: the spectrum, in their place.
template <class T, int kWarps, class Point>
__device__ __forceinline__ void transform_rows_of_taps(Point* rows, int points_of_segment, Point* exchange, const Point* factors,
                                                       const Point* twiddles) {
    const RowOfTile<kWarps, Point> at(rows, exchange);
    const auto& [lane, in_block, thread, warp, row, points] = at;
    const TwiddleOf<Point, kWarps> twiddle_of(twiddles, thread);
    T re[32];
    T im[32];
    at.take_apart(re, im);
    if constexpr (kWarps > 1) {
#pragma unroll
        for (int i = 0; i < 32; ++i) { multiply(re[i], im[i], twiddle_of(i)); }
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
    const LargeShared<Tile> block(shared);
    int* const task_place = &block.task->part;
    Tile tile(a, g, block.exchange, block.turns, block.tables);
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
        transform_taps(tile, points);
        __syncthreads();
        if (threadIdx.x == 0) { count_up(state.taps_done); }
        did_some = true;
    }
    if (!did_some) { return; }
    for (int task = next_task(1); task < kTasks; task = next_task(1)) {
        if (threadIdx.x == 0) { wait_for_count(state.taps_done, kTasks); }
        __syncthreads();
        transform_rows_of_taps<typename Tile::T, kWarps>(points + task * kTilePoints, Tile::kM, block.exchange,
                                                         block.tables + Tile::kTables.rows, block.tables + Tile::kTables.twiddles);
        __syncthreads();
        if (threadIdx.x == 0) { count_up(state.taps_done + 1); }
    }
}

}  // namespace tapline::cuda::overlap_save
