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

/// Barriers of the block's warps, for their parts of spectra, and the phase of each, in shared memory.
struct PartBarriers {
    CopyBarrier* barriers;  // eight, then their phases

    __device__ __forceinline__ void initialize_of(int warp) const {
        initialize(barriers + warp);
        phases()[warp] = 0;
    }
    template <class Point>
    __device__ __forceinline__ SpectrumPart<Point> part_of(int warp, Point* place, int lane) const {
        return {place, barriers + warp, lane, phases()[warp]};
    }
    __device__ __forceinline__ void has_waited(int warp, int lane) const {
        if (lane == 0) { phases()[warp] ^= 1; }
    }

private:
    [[nodiscard]] __device__ __forceinline__ std::uint32_t* phases() const {
        return reinterpret_cast<std::uint32_t*>(barriers + 8);
    }
};

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
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            x[i] = im[i];
            y[i] = re[i];
        }
        if (direction == 1) {
            part.wait_for();
#pragma unroll
            for (int i = 0; i < 32; ++i) { multiply(y[i], x[i], own[32 * i + lane]); }
            __syncwarp();
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
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            re[i] = x[i];
            im[i] = y[i];
        }
    }
}

/// Products of the rows that a block holds, in place: 8 / kWarps rows of 1,024 kWarps points, divided as in rung 27, times their
/// part of the spectrum, transformed back.
template <class T, int kWarps, class Point>
__device__ __forceinline__ void convolve_rows(Point* rows, const Point* spectrum, Point* exchange, const Point* factors,
                                              const Point* twists, const PartBarriers& barriers) {
    using Parts = Division<kWarps, true, kExchangePoints<Point>>;
    T re[32];
    T im[32];
    {
        const RowOfTile<kWarps, Point> at(rows, exchange);
        const int warp = at.in_block * kWarps + at.warp;
        at.take_apart(re, im);
        if constexpr (kWarps > 1) {
            const TwistOf<Point, kWarps> twist_of(twists, at.thread);
#pragma unroll
            for (int i = 0; i < 32; ++i) { multiply(re[i], im[i], twist_of(i)); }
        }
        Point* const own = at.points + at.warp * kExchangePoints<Point>;
        SpectrumPart<Point> part = barriers.part_of(warp, own, at.lane);
        convolve_remainder(re, im, own, at.lane, factors + at.lane * (sizeof(T) == 4 ? 2 : 1), spectrum + warp * kPoints, part);
        barriers.has_waited(warp, at.lane);
    }
    const RowOfTile<kWarps, Point> at(rows, exchange);  // anew, as registers are few in between
    if constexpr (kWarps > 1) {
        const TwistOf<Point, kWarps> twist_of(twists, at.thread);
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            Point w = twist_of(i);
            w.y = -w.y;
            multiply(re[i], im[i], w);
        }
    }
    Parts::put_together(re, im, at.points, at.thread, at.in_block, [] {});
    fft::for_each_index<0, 32>([&](auto output) {
        constexpr int u = decltype(output)::value;
        constexpr int r = Parts::held(u);
        __stcg(at.row + Parts::first(at.thread) + Parts::offset(u), Point{re[r], im[r]});
    });
}

/// What a block does next: of columns or rows of one step, kTasks of each; and the slot of the ring in which the segment lies. It
/// is read from shared memory wherever it is needed, and so are the phases above: in registers they would go to local memory while
/// a task needs them all, and what goes there leaves the first-level cache for the L2 cache, which has enough to do. 65,535 taps,
/// 2^28 samples 1,479 us; 1,585 with 13 numbers of a thread in local memory, of which a task wrote 5 and read 25.
template <int kTasks>
struct LargeTask {
    int number, slot;

    static __device__ __forceinline__ LargeTask read(const LargeTask* place) {
        const auto* const words = reinterpret_cast<const volatile int*>(place);
        return {words[0], words[1]};
    }
    [[nodiscard]] __device__ __forceinline__ int step() const {
        return static_cast<int>(static_cast<unsigned>(number) / (2 * kTasks));
    }
    [[nodiscard]] __device__ __forceinline__ bool is_columns() const {
        return static_cast<unsigned>(number) % (2 * kTasks) < kTasks;
    }
    [[nodiscard]] __device__ __forceinline__ int part() const { return static_cast<int>(static_cast<unsigned>(number) % kTasks); }
};

/// What a block has in shared memory.
template <class S, int kRadix, int kWarps>
struct LargeShared {
    using Tile = Columns<S, kRadix, kWarps>;
    using Point = typename Tile::Point;
    using Task = LargeTask<Tile::kM / kTilePoints>;
    Task* task;
    PartBarriers barriers;
    Point* tables;
    Point* turns;
    Point* exchange;

    __device__ __forceinline__ explicit LargeShared(uint4* shared)
        : task(reinterpret_cast<Task*>(shared)),
          barriers{reinterpret_cast<CopyBarrier*>(shared + 1)},
          tables(reinterpret_cast<Point*>(shared + kLargeHeadBytes / 16)),
          turns(tables + Tile::kTables.end),
          exchange(turns + Tile::kTurns) {}
};

/// The block's task of columns after finish_segment(), whatever makes it slow.
template <class S, int kRadix, int kWarps>
__device__ __noinline__ void transform_slowly(const Arguments& a, const LargeSegments& g, int left_over) {
    extern __shared__ uint4 shared[];
    using Shared = LargeShared<S, kRadix, kWarps>;
    const Shared block(shared);
    typename Shared::Tile tile(a, g, block.exchange, block.turns, block.tables);
    const auto task = Shared::Task::read(block.task);
    tile.stand_at(task.part());
    tile.transform_slowly(task.step(),
                          static_cast<typename Shared::Point*>(g.points) + static_cast<std::int64_t>(task.slot) * Shared::Tile::kM,
                          left_over);
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
    const LargeShared<S, kRadix, kWarps> block(shared);
    auto* const place = block.task;
    Point* const tables = block.tables;
    Point* const exchange = block.exchange;
    const auto* const all_tables = static_cast<const Point*>(g.tables);
    copy_by_block<Point>(tables, all_tables, Tile::kTables.end);
    if (threadIdx.x % 32 == 0) { block.barriers.initialize_of(static_cast<int>(threadIdx.x) / 32); }
    if constexpr (kMakesSpectrum) { make_spectrum<S, kRadix, kWarps>(a, g, shared); }
    Tile tile(a, g, exchange, block.turns, tables);

    for (;;) {
        // By another warp than the one that counts, which waits until all has been stored: 65,535 taps 1,541 us instead of 1,590.
        if (threadIdx.x == 32) {
            unsigned next = atomicAdd(&g.state->next_task, 1u);
            const auto alone = static_cast<unsigned>(g.lag * kTasks);  // columns before the first rows
            next += next < alone ? next / kTasks * kTasks : alone;
            const LargeTask<kTasks> task{static_cast<int>(next)};
            const int segment = task.is_columns() ? task.step() : task.step() - g.lag;
            const int turn = segment / g.slots;
            const int slot = segment - turn * g.slots;
            *place = {task.number, slot};
            // Of columns the rows of the segment that lay there before have to be complete, of rows its columns.
            const int before = task.is_columns() ? segment - g.slots : segment;
            if (before >= 0 && before < g.segments) {
                const unsigned* done = task.is_columns() ? g.state->rows_done : g.state->columns_done;
                wait_for_count(done + slot, static_cast<unsigned>(task.is_columns() ? turn : turn + 1) * kTasks);
            }
            // Columns of later segments lie where those of these were, and came after their rows.
            if (kMakesSpectrum && !task.is_columns() && before < g.slots) { wait_for_count(g.state->taps_done + 1, kTasks); }
        }
        __syncthreads();
        const auto task = LargeTask<kTasks>::read(place);
        if (task.step() >= g.segments + g.slots) { return; }
        Point* at = static_cast<Point*>(g.points) + static_cast<std::int64_t>(task.slot) * Tile::kM;
        if (task.is_columns()) {
            tile.stand_at(task.part());
            tile.turn_to();
            const int old = task.step() - g.slots;
            bool fetched = false;
            int left_over = 0;
            if (old >= 0 && old < g.segments) {
                left_over = tile.finish_segment(old, at, [&] {
                    if constexpr (Tile::kFetches) {
                        fetched = tile.may_fetch(task.step());
                        __syncwarp();
                        if (fetched) { tile.fetch(task.step()); }
                    }
                });
            }
            const auto again = LargeTask<kTasks>::read(place);
            const auto slowly = [&] { transform_slowly<S, kRadix, kWarps>(a, g, left_over); };
            if (again.step() < g.segments) {
                tile.stand_at(again.part());
                tile.transform(again.step(), fetched, left_over, slowly, [&] {
                    const auto now = LargeTask<kTasks>::read(place);
                    tile.stand_at(now.part());
                    return static_cast<Point*>(g.points) + static_cast<std::int64_t>(now.slot) * Tile::kM;
                });
            } else {
                slowly();
            }
        } else if (task.step() - g.lag < g.segments) {
            int first = task.part() * kTilePoints;
            hide(at, first);
            const Point* spectrum = all_tables + Tile::kTables.end;
            if constexpr (kMakesSpectrum) { spectrum = static_cast<const Point*>(g.made_spectrum); }
            convolve_rows<T, kWarps>(at + first, spectrum + first, exchange, tables + Tile::kTables.rows,
                                     tables + Tile::kTables.twists, block.barriers);
            // Nobody looks at these notes any more, nor yet: outputs of segment - slots are written, and samples of segment + slots
            // are not read before these rows are complete.
            if (first == 0) { forget_bad(*g.state, (LargeTask<kTasks>::read(place).step() - g.lag + g.slots) % (2 * g.slots)); }
        }
        const auto ended = LargeTask<kTasks>::read(place);
        __syncthreads();
        if (threadIdx.x == 0) {
            if (ended.is_columns()) {
                if (ended.step() < g.segments) { count_up(g.state->columns_done + ended.slot); }
            } else if (ended.step() - g.lag < g.segments) {
                count_up(g.state->rows_done + ended.slot);
            }
        }
    }
}

}  // namespace tapline::cuda::overlap_save
