// 29: very long filters, by transforms larger than shared memory, whose points stay in the L2 cache.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_columns.cuh"
#include "cuda/families/overlap_save/large/overlap_save_large_rows.cuh"
#include "cuda/families/overlap_save/large/overlap_save_large_task.cuh"
#include "cuda/families/overlap_save/overlap_save_samples.cuh"

namespace tapline::cuda::overlap_save {

/// By all threads of a block.
__device__ __forceinline__ void forget_bad(LargeState& state, int segment) {
    if (threadIdx.x == 0) { state.bad[segment] = 0; }
    for (int i = static_cast<int>(threadIdx.x); i < kMostMarks / 32; i += kTileThreads) { state.marks[segment][i] = 0; }
}

/// Products of a warp's 1,024 points in float and their spectrum, there and back; real and imaginary parts are exchanged before
/// either transform. `factors`: the lane's. Both directions have code of their own, with two steps at once and the products in the
/// first step back: 65,535 taps, 2^28 samples 1,487 us instead of 1,508 with one loop for both as in double.
__device__ __forceinline__ void convolve_remainder(float (&re)[32], float (&im)[32], float2* own, int lane, const float2* factors,
                                                   const float2* products, SpectrumPart<float2>& part) {
    transform_of_lanes(im, re, own, lane, factors, [&] {
        // The exchange is over: its place may take the spectrum, which comes while the points are transformed again.
        fence_before_copy();
        __syncwarp();
        part.start_copy(products);
    });
    float x[32];
    float y[32];
    part.wait_for();
    fft::for_each_index<0, 16>([&](auto number) {
        constexpr int i = 2 * decltype(number)::value;
        constexpr int r = fft::reversed(i, 5);
        const float4 h = reinterpret_cast<const float4*>(own)[16 * i + lane];
        const float a_x = im[i] * h.y + re[i] * h.x;
        const float a_y = im[i] * h.x - re[i] * h.y;
        x[r] = fmaf(re[i + 1], h.z, fmaf(im[i + 1], h.w, a_x));
        y[r] = fmaf(-re[i + 1], h.w, fmaf(im[i + 1], h.z, a_y));
        x[r + 16] = fmaf(2.0F, a_x, -x[r]);
        y[r + 16] = fmaf(2.0F, a_y, -y[r]);
    });
    __syncwarp();
    finish_back<32>(x, y);
    exchange_of_lanes(x, y, own, lane);
    __syncwarp();  // rows of several warps go on there
    transform_by_table<32, 5, 32>(x, y, factors);
    fft::for_each_index<0, 32>([&](auto value) {
        constexpr int i = decltype(value)::value;
        re[i] = x[fft::reversed(i, 5)];
        im[i] = y[fft::reversed(i, 5)];
    });
}

/// The same in double.
template <class Point>
__device__ __forceinline__ void convolve_remainder(double (&re)[32], double (&im)[32], Point* own, int lane, const Point* pairs,
                                                   const Point* products, SpectrumPart<Point>& part) {
#pragma unroll 1
    for (int direction = 0; direction < 2; ++direction) {
        double x[32];
        double y[32];
        exchange_parts(x, y, re, im);
        if (direction == 1) {
            part.wait_for();
            multiply_by_lane(y, x, own, lane);
        }
        const auto pair = [&](int i, double* c, double* t) {
            const Point p = pairs[32 * i];
            *c = p.x;
            *t = p.y;
        };
        transform_warp(x, y, own, lane, pair, [&] {
            if (direction == 0) { fence_before_copy(); }
            __syncwarp();
            if (direction == 0) { part.start_copy(products); }
        });
        copy_points(re, im, x, y);
    }
}

/// Products of the rows that a block holds, in place: 8 / kWarps rows of 1,024 kWarps points, divided as in rung 27, times their
/// part of the spectrum, transformed back.
template <class T, int kWarps, class Point>
__device__ __forceinline__ void convolve_rows(Point* rows, const Point* spectrum, Point* exchange, const Point* factors,
                                              const Point* twiddles, const PartBarriers& barriers) {
    T re[32];
    T im[32];
    {
        const RowOfTile<kWarps, Point> at(rows, exchange);
        const int warp = at.in_block * kWarps + at.warp;
        at.take_apart(re, im);
        if constexpr (kWarps > 1) {
            const TwiddleOf<Point, kWarps> twiddle_of(twiddles, at.thread);
#pragma unroll
            for (int i = 0; i < 32; ++i) { multiply(re[i], im[i], twiddle_of(i)); }
        }
        Point* const own = at.points + at.warp * kExchangePoints<Point>;
        SpectrumPart<Point> part = barriers.part_of(warp, own, at.lane);
        convolve_remainder(re, im, own, at.lane, factors + at.lane * (sizeof(T) == 4 ? 2 : 1), spectrum + warp * kPoints, part);
        barriers.has_waited(warp, at.lane);
    }
    const RowOfTile<kWarps, Point> at(rows, exchange);  // anew, as registers are few in between
    if constexpr (kWarps > 1) {
        const TwiddleOf<Point, kWarps> twiddle_of(twiddles, at.thread);
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            Point w = twiddle_of(i);
            w.y = -w.y;
            multiply(re[i], im[i], w);
        }
    }
    at.put_together(re, im);
}

/// The block's task of columns after finish_segment(), whatever makes it slow.
template <class S, int kRadix, int kWarps, int kTogether>
__device__ __noinline__ void transform_slowly(const Arguments& a, const LargeSegments& g, int left_over) {
    extern __shared__ uint4 shared[];
    using Tile = Columns<S, kRadix, kWarps, kTogether>;
    const LargeShared<Tile> block(shared);
    Tile tile(a, g, block.exchange, block.turns, block.tables);
    const auto task = read_task(block.task);
    tile.stand_at(task.part);
    tile.transform_slowly(task.segment, tile.own(block.points_of(task, g)), left_over);
}

/// Segments of M = 32 kRadix x 1,024 kWarps complex points: 2M real samples or M complex ones, taken as polynomials as in rung 27.
///
/// A segment is a matrix with 32 kRadix rows. Its columns are transformed on the way from the signal (tasks of a tile of columns:
/// a block reads 8,192 points), its rows on the spot, multiplied by the spectrum and transformed back (tasks of 8,192 points
/// again), and its columns on the way to the output. Nothing is transposed: values lie where the points were.
///
/// Blocks take tasks in one order, and a task waits only for tasks before it, which others have taken: no deadlock, however many
/// blocks there are. Columns of segment s come with rows of segment s - lag or near it, so that what they wait for was taken long
/// ago and reading the signal, working in the L2 cache and writing go on at the same time. Columns of segment s lie where those of
/// s - slots were: a task first finishes the tile of that one.
/// kTogether: rows whose segments count as one, as Columns has them.
template <class S, int kRadix, int kWarps, int kTogether = 1>
__global__ void __launch_bounds__(kTileThreads, sizeof(typename Element<S>::Real) == 8 ? 1 : 2)
    overlap_save_large_kernel(const __grid_constant__ Arguments a, const __grid_constant__ LargeSegments g) {
    using Tile = Columns<S, kRadix, kWarps, kTogether>;
    using T = typename Tile::T;
    using Point = typename Tile::Point;
    constexpr int kTasks = Tile::kSlot / kTilePoints;
    extern __shared__ uint4 shared[];
    if (g.only_if != nullptr && *g.only_if == 0) { return; }
    const LargeShared<Tile> block(shared);
    auto* const place = block.task;
    Point* const tables = block.tables;
    Point* const exchange = block.exchange;
    copy_by_block<Point>(tables, static_cast<const Point*>(g.tables), Tile::kTables.end);
    if (threadIdx.x % 32 == 0) { block.barriers.initialize_of(static_cast<int>(threadIdx.x) / 32); }
    Tile tile(a, g, exchange, block.turns, tables);

    for (;;) {
        // By another warp than the one that counts, which waits until all has been stored: 65,535 taps 1,541 us instead of 1,590.
        if (threadIdx.x == 32) {
            const LargeTask task = g.order.task(atomicAdd(&g.state->next_task, 1u), fft::log2_of(kTasks));
            *place = task;
            // Of columns the rows of the segment that lay there before have to be complete, of rows its columns.
            const int before = task.is_columns != 0 ? task.segment - g.order.slots : task.segment;
            if (before >= 0 && before < g.segments) {
                const unsigned* done = task.is_columns != 0 ? g.state->rows_done : g.state->columns_done;
                const int turns = g.order.turn_of(task.segment) + (task.is_columns != 0 ? 0 : 1);
                wait_for_count(done + task.slot, static_cast<unsigned>(turns) * kTasks);
            }
        }
        __syncthreads();
        const auto task = read_task(place);
        if (task.is_columns != 0 && task.segment >= g.segments + g.order.slots) { return; }
        Point* at = block.points_of(task, g);
        const auto exists = [&](int segment) { return segment >= 0 && segment < g.segments; };
        const int old = task.segment - g.order.slots;
        if (task.is_columns != 0 && (exists(task.segment) || exists(old))) {
            tile.stand_at(task.part);
            at = tile.own(at);
            bool fetched = false;
            int left_over = 0;
            if (exists(old)) {
                left_over = tile.finish_segment(old, at, [&] {
                    if constexpr (Tile::kFetches) { fetched = tile.fetch(read_task(place).segment); }
                });
            } else {
                tile.turn_to();
            }
            const auto again = read_task(place);
            const auto slowly = [&] { transform_slowly<S, kRadix, kWarps, kTogether>(a, g, left_over); };
            if (again.segment < g.segments) {
                tile.stand_at(again.part);
                tile.transform(again.segment, fetched, left_over, slowly, [&] {
                    const auto now = read_task(place);
                    tile.stand_at(now.part);
                    return tile.own(block.points_of(now, g));
                });
            } else {
                slowly();
            }
        } else if (task.is_columns == 0 && exists(task.segment)) {
            int first = task.part * kTilePoints;
            hide(at, first);
            const Point* const spectrum =
                static_cast<const Point*>(g.spectrum) + static_cast<std::int64_t>(task.segment & g.spectra_mask) * Tile::kM;
            convolve_rows<T, kWarps>(at + first, spectrum + (kTogether == 1 ? first : first & (Tile::kM - 1)), exchange,
                                     tables + Tile::kTables.rows, tables + Tile::kTables.twiddles, block.barriers);
            // Nobody looks at these notes any more, nor yet: outputs of segment - slots are written, and samples of segment + slots
            // are not read before these rows are complete.
            if (first == 0) { forget_bad(*g.state, (read_task(place).segment + g.order.slots) % (2 * g.order.slots)); }
        }
        const auto ended = read_task(place);
        __syncthreads();
        if (threadIdx.x == 0) {
            if (static_cast<unsigned>(ended.segment) < static_cast<unsigned>(g.segments)) {
                count_up((ended.is_columns != 0 ? g.state->columns_done : g.state->rows_done) + ended.slot);
            }
        }
    }
}

}  // namespace tapline::cuda::overlap_save
