// 29: very long filters, by transforms larger than shared memory, whose points stay in the L2 cache.
#pragma once

#include "cuda/ladder/conv1d/overlap_save_columns.cuh"
#include "cuda/ladder/conv1d/overlap_save_large_spectrum.cuh"
#include "cuda/ladder/conv1d/overlap_save_samples.cuh"

namespace tapline::cuda::overlap_save {

/// By all threads of a block.
__device__ __forceinline__ void forget_bad(LargeState& state, int segment) {
    if (threadIdx.x == 0) { state.bad[segment] = 0; }
    for (int i = static_cast<int>(threadIdx.x); i < kMostMarks / 32; i += kTileThreads) { state.marks[segment][i] = 0; }
}

/// Products of the rows that a block holds, in place: 8 / kWarps rows of 1,024 kWarps points, transformed as in rung 27, times
/// their part of the spectrum, transformed back.
template <class T, int kWarps, class Point>
__device__ __forceinline__ void convolve_rows(Point* rows, const Point* spectrum, Point* exchange, const Point* pairs,
                                              const Point* twists, SpectrumPart<Point>& part) {
    using Parts = Division<kWarps, true>;
    const RowOfTile<kWarps, Point> at(rows, exchange);
    const auto& [lane, in_block, thread, warp, row, points] = at;
    const Point* const products = spectrum + (in_block * kWarps + warp) * kPoints;
    Point* const own = points + warp * kBufferPoints;
    const TwistOf<Point, kWarps> twist_of(twists, thread);

    T re[32];
    T im[32];
    at.take_apart(re, im);
#pragma unroll 1
    for (int direction = 0; direction < 2; ++direction) {
        T x[32];
        T y[32];
#pragma unroll
        for (int i = 0; i < 32; ++i) {  // real and imaginary parts exchanged
            x[i] = im[i];
            y[i] = re[i];
        }
        if (direction == 1) {
            part.wait_for();
#pragma unroll
            for (int i = 0; i < 32; ++i) { multiply(y[i], x[i], own[32 * i + lane]); }
            __syncwarp();
        } else if constexpr (kWarps > 1) {
#pragma unroll
            for (int i = 0; i < 32; ++i) { multiply(y[i], x[i], twist_of(i)); }
        }
        const auto pair = [&](int i, T* c, T* t) {
            const Point p = pairs[32 * i + lane];
            *c = p.x;
            *t = p.y;
        };
        transform_warp(x, y, own, lane, pair, [&] {
            // The exchange is over: its place may take the spectrum, which comes while the points are transformed again.
            if (direction == 0) { fence_before_copy(); }
            __syncwarp();
            if (direction == 0) { part.start_copy(products); }
        });
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = x[i];
            im[i] = y[i];
        }
    }
    if constexpr (kWarps > 1) {
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            Point w = twist_of(i);
            w.y = -w.y;
            multiply(re[i], im[i], w);
        }
    }
    Parts::put_together(re, im, points, thread, in_block, [] {});
    fft::for_each_index<0, 32>([&](auto output) {
        constexpr int u = decltype(output)::value;
        constexpr int r = Parts::held(u);
        __stcg(row + Parts::first(thread) + Parts::offset(u), Point{re[r], im[r]});
    });
}

/// Segments of M = 32 kRadix x 1,024 kWarps complex points: 2M real samples or M complex ones, taken as polynomials as in rung 27.
///
/// A segment is a matrix with 32 kRadix rows. Its columns are transformed on the way from the signal (tasks of a tile of columns:
/// a block reads 8,192 points), its rows on the spot, multiplied by the spectrum and transformed back (tasks of 8,192 points
/// again), and its columns on the way to the output. Nothing is transposed: values lie where the points were.
///
/// Blocks take tasks in one order, and a task waits only for tasks before it, which others have taken: no deadlock, however many
/// blocks there are. Columns of segment s come with rows of segment s - lag, so that what they wait for was taken long ago and
/// reading the signal, working in the L2 cache and writing go on at the same time. Columns of segment s lie where those of s -
/// slots were: a task first finishes the tile of that one.
///
/// kMakesSpectrum: of taps in GPU memory, while others read the first columns.
template <class S, int kRadix, int kWarps, bool kMakesSpectrum>
__global__ void __launch_bounds__(kTileThreads, sizeof(typename Element<S>::Real) == 8 ? 1 : 2)
    overlap_save_large_kernel(const __grid_constant__ Arguments a, const __grid_constant__ LargeSegments g) {
    using Tile = Columns<S, kRadix, kWarps>;
    using T = typename Tile::T;
    using Point = typename Tile::Point;
    constexpr int kTasks = Tile::kM / kTilePoints;
    extern __shared__ uint4 shared[];
    int* const task_place = reinterpret_cast<int*>(shared);
    CopyBarrier* const barriers = reinterpret_cast<CopyBarrier*>(shared + 1);  // of the warps
    Point* const tables = reinterpret_cast<Point*>(shared + kLargeHeadBytes / 16);
    Point* const turns = tables + Tile::kTables.end;
    Point* const exchange = turns + kTilePoints / kRadix + kTileThreads;
    const auto* const all_tables = static_cast<const Point*>(g.tables);
    copy_by_block<Point>(tables, all_tables, Tile::kTables.end);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    SpectrumPart<Point> part_of_spectrum(exchange + warp * kBufferPoints, barriers + warp, static_cast<int>(threadIdx.x) % 32);
    if constexpr (kMakesSpectrum) { make_spectrum<S, kRadix, kWarps>(a, g, shared); }
    Tile tile(a, g, exchange, turns, tables);

    for (;;) {
        // By another warp than the one that counts, which waits until all has been stored: 65,535 taps 1,541 us instead of 1,590.
        if (threadIdx.x == 32) {
            unsigned next = atomicAdd(&g.state->next_task, 1u);
            const auto alone = static_cast<unsigned>(g.lag * kTasks);  // columns before the first rows
            next += next < alone ? next / kTasks * kTasks : alone;
            *task_place = static_cast<int>(next);
            const int step = static_cast<int>(next / (2 * kTasks));
            const bool is_columns = next % (2 * kTasks) < kTasks;
            const int before = step - (is_columns ? g.slots : g.lag);  // the segment whose rows, or columns, have to be complete
            if (before >= 0 && before < g.segments) {
                const unsigned* done = is_columns ? g.state->rows_done : g.state->columns_done;
                wait_for_count(done + before % g.slots, static_cast<unsigned>(before / g.slots + 1) * kTasks);
            }
            // Columns of later segments lie where those of these were, and came after their rows.
            if (kMakesSpectrum && !is_columns && before < g.slots) { wait_for_count(g.state->taps_done + 1, kTasks); }
        }
        __syncthreads();
        const auto task = static_cast<unsigned>(*task_place);
        const int step = static_cast<int>(task / (2 * kTasks));
        const int number = static_cast<int>(task % (2 * kTasks));
        if (step >= g.segments + g.slots) { return; }
        unsigned* done = nullptr;
        if (number < kTasks) {
            Point* at = static_cast<Point*>(g.points) + static_cast<std::int64_t>(step % g.slots) * Tile::kM;
            int part = number;
            hide(at, part);  // else the compiler keeps more in local memory: 3% of the time
            tile.move_to(part);
            const int old = step - g.slots;
            bool fetched = false;
            if (old >= 0 && old < g.segments) {
                tile.finish_segment(old, at, [&] {
                    if constexpr (Tile::kFetches) {
                        fetched = tile.may_fetch(step);
                        __syncwarp();
                        if (fetched) { tile.fetch(step); }
                    }
                });
            }
            if (step < g.segments) { tile.transform(step, at, fetched); }
            if (step < g.segments) { done = g.state->columns_done + step % g.slots; }
        } else if (step >= g.lag && step - g.lag < g.segments) {
            const int segment = step - g.lag;
            Point* rows = static_cast<Point*>(g.points) + static_cast<std::int64_t>(segment % g.slots) * Tile::kM;
            int first = (number - kTasks) * kTilePoints;
            hide(rows, first);
            const Point* spectrum = all_tables + Tile::kTables.end;
            if constexpr (kMakesSpectrum) { spectrum = static_cast<const Point*>(g.made_spectrum); }
            convolve_rows<T, kWarps>(rows + first, spectrum + first, exchange, tables + Tile::kTables.rows,
                                     tables + Tile::kTables.twists, part_of_spectrum);
            // Nobody looks at these notes any more, nor yet: outputs of segment - slots are written, and samples of segment + slots
            // are not read before these rows are complete.
            if (number == kTasks) { forget_bad(*g.state, (segment + g.slots) % (2 * g.slots)); }
            done = g.state->rows_done + segment % g.slots;
        }
        __syncthreads();
        if (threadIdx.x == 0 && done != nullptr) { count_up(done); }
    }
}

}  // namespace tapline::cuda::overlap_save
