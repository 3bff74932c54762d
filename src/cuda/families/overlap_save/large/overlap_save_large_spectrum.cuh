// The spectrum of large segments, of taps that came after the plan.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_large_rows.cuh"

namespace tapline::cuda::overlap_save {

/// From taps to points: of the polynomial with the coefficients conj(taps[t]) at t + skip, as if these were samples. Puts the taps
/// where they are wanted in correlation order.
template <class Tile>
__device__ __forceinline__ void transform_taps(const Tile& tile, int spectrum, typename Tile::Point* at) {
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
    const T* const given = static_cast<const T*>(g.given) + static_cast<std::int64_t>(spectrum) * k * (pairs ? 2 : 1);
    const T* const from = given + (g.reversed != 0 ? k - 1 : 0) * (pairs ? 2 : 1) + own * step;
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
            if (is_there(t) && g.made_taps != nullptr) { static_cast<typename Tile::Point*>(g.made_taps)[t] = {re[i], -im[i]}; }
        } else if (g.made_taps != nullptr) {
            if (is_there(t)) { static_cast<T*>(g.made_taps)[t] = re[i]; }
            if (!kComplex && is_there(t + kM)) { static_cast<T*>(g.made_taps)[t + kM] = im[i]; }
        }
    }
    tile.transform_points(re, im, at);
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
        auto* const to = reinterpret_cast<float4*>(row + warp * kPoints) + lane;  // as fft::halves_place() orders them
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

/// The spectrum of taps in GPU memory, by a launch in front of the one that uses it: blocks take tasks of columns, then, as these
/// are done, of rows. For samples of T's own type or, if T is float, of 16 bits, whose points are the same.
template <class T, int kRadix, int kWarps>
__global__ void __launch_bounds__(kTileThreads, sizeof(typename Element<T>::Real) == 8 ? 1 : 2)
    large_spectrum_kernel(const __grid_constant__ Arguments a, const __grid_constant__ LargeSegments g) {
    using Tile = Columns<T, kRadix, kWarps>;
    using Point = typename Tile::Point;
    constexpr int kTasks = Tile::kM / kTilePoints;
    extern __shared__ uint4 shared[];
    const LargeShared<Tile> block(shared);
    copy_by_block<Point>(block.tables, static_cast<const Point*>(g.tables), Tile::kTables.end);
    int* const task_place = &block.task->part;
    Tile tile(a, g, block.exchange, block.turns, block.tables);
    LargeState& state = *g.state;
    Point* const points = static_cast<Point*>(g.made_spectrum);
    const int tasks = kTasks * max(g.spectra, 1);
    const auto next_task = [&](int part) {
        if (threadIdx.x == 0) { *task_place = static_cast<int>(atomicAdd(state.next_of_taps + part, 1u)); }
        __syncthreads();
        const int task = *task_place;
        __syncthreads();
        return task;
    };
    for (int task = next_task(0); task < tasks; task = next_task(0)) {
        tile.stand_at(task % kTasks);
        tile.turn_to();
        transform_taps(tile, task / kTasks, points + static_cast<std::int64_t>(task / kTasks) * Tile::kM);
        __syncthreads();
        if (threadIdx.x == 0) { count_up(&state.taps_done); }
    }
    for (int task = next_task(1); task < tasks; task = next_task(1)) {
        if (threadIdx.x == 0) { wait_for_count(&state.taps_done, static_cast<unsigned>(tasks)); }
        __syncthreads();
        transform_rows_of_taps<typename Tile::T, kWarps>(points + std::int64_t{task} * kTilePoints, Tile::kM, block.exchange,
                                                         block.tables + Tile::kTables.rows, block.tables + Tile::kTables.twiddles);
        __syncthreads();
    }
}

template <class T>
LargeSegmentKernel pick_large_spectrum(int bits) {
    return with_large_shape(
        bits, [&]<int kRadix, int kWarps>() -> LargeSegmentKernel { return &large_spectrum_kernel<T, kRadix, kWarps>; });
}

}  // namespace tapline::cuda::overlap_save
