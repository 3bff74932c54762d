// Segments of any layout and type: those of neighbouring rows come and go together, through shared memory.
#pragma once

#include "cuda/families/overlap_save/overlap_save_outputs.cuh"
#include "cuda/families/overlap_save/overlap_save_samples.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_convolve.cuh"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::overlap_save {

/// Waits for all warps of a team of segments.
template <int kWarps>
__device__ __forceinline__ void sync_team(int segments, int team_of_block, int segment_of_block) {
    if (segments == 1) {
        sync_segment<kWarps>(segment_of_block);
        return;
    }
#if defined(__CUDA_ARCH__)
    // Segments have the numbers before it; those of one warp have none.
    const int number = (kWarps == 1 ? 1 : 1 + kMostSegments / kWarps) + team_of_block;
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(32 * kWarps * segments) : "memory");
#else
    __syncthreads();
#endif
}

/// The sum of output o of a line, directly; `in`: its sample in_first, in elements.
template <class X, class H>
__device__ __noinline__ X direct_sum_of_line(const Arguments& a, const Rows& rows, std::int64_t in, const H* taps, std::int64_t o,
                                             X sum) {
    const std::int64_t first = a.first + o - a.origin;
    for (std::int64_t t = 0; t < a.k; ++t) {
        std::int64_t position = first + t;
        bool is_there = position >= a.in_first && position < a.in_last;  // also outside [0, n), if a caller put it there
        if (!is_there) {
            if (a.boundary == kZero) { continue; }
            position = boundary_index(a.boundary, position, a.n);
            is_there = position >= a.in_first && position < a.in_last;
        }
        const X x = is_there ? load_any<X>(rows.input_type, rows.input_bytes, a.in, in + (position - a.in_first) * a.in_sample)
                             : boundary_constant<X>(a);
        multiply_add(sum, x, taps[t]);
    }
    return sum;
}

/// How a team's segments lie in its shared memory while they come and go: element t of line l at t * lines + (l ^ turn), so that
/// lanes meet in no bank whether they go along a line or from line to line. `turn` is the same for all t of a thread, which are a
/// multiple of 32 apart.
struct TeamPlace {
    int lines, line, first;  // of the team; the thread's own, and its first element

    __device__ __forceinline__ TeamPlace(int its_lines, int its_line, int its_first)
        : lines(its_lines), line(its_line), first(its_first) {}
    /// Of element first + offset.
    [[nodiscard]] __device__ __forceinline__ int of(int offset) const {
        const bool is_power = (lines & (lines - 1)) == 0;
        const int turn = is_power ? (first & 31) * lines / 32 : 0;
        return (first + offset) * lines + (line ^ turn);
    }
};

/// Samples [0, begin) and [end, needed) of the thread's line, none of which lies in the piece.
template <class X>
__device__ __noinline__ void fill_line_outside(const Arguments& a, const Rows& rows, X* to, TeamPlace place, std::int64_t line_at,
                                               std::int64_t start, int begin, int end, int needed, int step) {
    X constant{};
    if (a.boundary == kConstant) { constant = boundary_constant<X>(a); }
    for (int t = place.first; t < needed; t += step) {
        if (t >= begin && t < end) { continue; }
        X x = constant;
        if (a.boundary > kConstant) {
            const std::int64_t position = boundary_index(a.boundary, a.in_first + start + t, a.n);
            // Where the sample is not there nobody asked for an output that needs it.
            if (position >= a.in_first && position < a.in_last) {
                x = load_any<X>(rows.input_type, rows.input_bytes, a.in, line_at + (position - a.in_first) * a.in_sample);
            }
        }
        to[place.of(t - place.first)] = x;
    }
}

/// As SegmentPoints, of a team's line.
template <class X, int kWarps>
struct TeamPoints {
    const X* samples;
    int lines, line;
    const Segments& g;

    template <class T>
    __device__ __forceinline__ void operator()(int c, int t, T& x, T& y) const {
        const X* const own = samples + TeamPlace(lines, line, t).of(0);
        read_point<X, kWarps>(g, c, t, x, y, [&](int offset) { return own[offset * lines]; });
    }
};

/// Elements first, first + step, ... below `end` of the thread's line, `from` being the line's element 0: asynchronously where they
/// are sums as they come, else widened.
template <class X, class Raw>
__device__ __forceinline__ void load_line(X* to, const TeamPlace& place, const Raw* from, std::int64_t stride, Dtype type,
                                          int begin, int end, int step) {
    if (place.first < begin) {  // at an edge
        const int rounds = (begin - place.first + step - 1) / step;
        from += rounds * step * stride;
        to += rounds * step * place.lines;
        end -= rounds * step;
    }
    const std::int64_t stride_of_step = stride * step;
    from += place.first * stride;
    X* own = to + place.of(0);
    const int pitch = step * place.lines;
    if constexpr (std::is_same_v<X, Raw>) {
        constexpr int kPart = static_cast<int>(kIsComplexElement<X> ? sizeof(X) / 2 : sizeof(X));
#pragma unroll 8
        for (int t = place.first; t < end; t += step) {
#pragma unroll
            for (int part = 0; part < static_cast<int>(sizeof(X)); part += kPart) {
                copy_element_async<kPart>(reinterpret_cast<char*>(own) + part, reinterpret_cast<const char*>(from) + part);
            }
            from += stride_of_step;
            own += pitch;
        }
    } else {
        constexpr int kBatch = sizeof(X) > 8 ? 4 : sizeof(X) > 4 ? 8 : 16;
        for (int t = place.first; t < end; t += step * kBatch) {
            Raw raw[kBatch];
#pragma unroll
            for (int u = 0; u < kBatch; ++u) {
                raw[u] = Raw{};
                if (t + u * step < end) { raw[u] = load_element(from + u * stride_of_step); }
            }
            X x[kBatch];
            widen_raw(type, raw, x);
#pragma unroll
            for (int u = 0; u < kBatch; ++u) {
                if (t + u * step < end) { own[u * pitch] = x[u]; }
            }
            from += kBatch * stride_of_step;
            own += kBatch * pitch;
        }
    }
}

/// Samples [0, needed) of the thread's line and zeros up to `size`; `start`: of sample 0, from sample in_first, which is `first`.
template <class X>
__device__ __forceinline__ void load_line_of_any(const Arguments& a, const Rows& rows, X* to, const TeamPlace& place,
                                                 std::int64_t line_at, std::int64_t start, int needed, int size, int step) {
    const std::int64_t length = a.in_last - a.in_first;
    const int begin = static_cast<int>(min(max(-start, std::int64_t{0}), std::int64_t{needed}));
    const int end = static_cast<int>(min(max(length - start, std::int64_t{begin}), std::int64_t{needed}));
    const std::int64_t at = line_at + start * a.in_sample;
    if constexpr (kIsComplexElement<X>) {
        load_line(to, place, static_cast<const X*>(a.in) + at, a.in_sample, rows.input_type, begin, end, step);
    } else {
        with_input<X>(rows.input_type, rows.input_bytes, [&](auto raw) {
            using Raw = decltype(raw);
            load_line(to, place, static_cast<const Raw*>(a.in) + at, a.in_sample, rows.input_type, begin, end, step);
        });
    }
    if (begin != 0 || end != needed) { fill_line_outside(a, rows, to, place, line_at, start, begin, end, needed, step); }
    for (int t = place.first; t < size; t += step) {
        if (t >= needed) { to[place.of(t - place.first)] = X{}; }
    }
}

/// Outputs first, first + step, ... below `wanted` of the thread's line, to its output 0.
template <class X, class Raw>
__device__ __forceinline__ void store_line(const X* from, const TeamPlace& place, Raw* to, std::int64_t stride, Dtype type,
                                           int wanted, int step) {
    const std::int64_t stride_of_step = stride * step;
    to += place.first * stride;
    const X* own = from + place.of(0);
    const int pitch = step * place.lines;
    if constexpr (std::is_same_v<X, Raw>) {
#pragma unroll 8
        for (int t = place.first; t < wanted; t += step) {
            store_element(to, *own);
            to += stride_of_step;
            own += pitch;
        }
    } else {
        constexpr int kBatch = sizeof(X) > 8 ? 2 : sizeof(X) > 4 ? 4 : 8;
        for (int t = place.first; t < wanted; t += step * kBatch) {
            X x[kBatch];
            Raw raw[kBatch];
#pragma unroll
            for (int u = 0; u < kBatch; ++u) { x[u] = t + u * step < wanted ? own[u * pitch] : X{}; }
            narrow_to_raw(type, x, raw);
#pragma unroll
            for (int u = 0; u < kBatch; ++u) {
                if (t + u * step < wanted) { store_element(to + u * stride_of_step, raw[u]); }
            }
            to += kBatch * stride_of_step;
            own += kBatch * pitch;
        }
    }
}

/// As overlap_save_kernel, of samples that are widened to X, the type of sums, on their way in. A team of segments, Rows::lines of
/// neighbouring rows, begins and ends together: lanes read samples and write outputs from row to row where these lie closer than
/// samples do. Teams of a block wait for nobody else, so that some read or write while others compute.
template <class X, int kWarps, class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    overlap_save_tiles_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    using T = typename Element<X>::Real;
    using Point = typename PointOf<T>::Type;
    constexpr bool kComplex = kIsComplexElement<X>;
    constexpr int kM = kPoints * kWarps;
    constexpr int kSamples = (kComplex ? 1 : 2) * kM;
    constexpr int kTables = kPairs * kWarps + (Shape::kTwiddleTable ? kM : kPoints);
    constexpr int kStep = 32 * kWarps;
    using Parts = Division<kWarps, kComplex, kExchangePoints<Point>>;
    const Rows& rows = g.rows;
    const int in_block = static_cast<int>(threadIdx.x) / kStep;  // which of the block's segments
    const int thread = static_cast<int>(threadIdx.x) % kStep;    // of the segment
    const int warp = kWarps == 1 ? 0 : thread / 32;
    const int team_of_block = in_block / rows.lines;
    const int line = in_block - team_of_block * rows.lines;
    const int in_team = line * kStep + thread;

    extern __shared__ uint4 shared[];
    constexpr SharedLayout kLayout = shared_layout<Shape, kWarps, sizeof(Point), Spectrum::passing>();
    char* const base = reinterpret_cast<char*>(shared);
    Point* const block_pairs = reinterpret_cast<Point*>(base + kLayout.pairs);
    const Point* const twiddles = reinterpret_cast<Point*>(base + kLayout.twiddles);
    X* const of_team = reinterpret_cast<X*>(base + kLayout.segments + team_of_block * rows.lines * kLayout.segment_bytes);
    Point* const points = reinterpret_cast<Point*>(base + kLayout.segments + in_block * kLayout.segment_bytes);
    Point* const own = points + warp * kExchangePoints<Point>;
    CopyBarrier* const barriers = reinterpret_cast<CopyBarrier*>(base);
    // Of what comes and goes, neighbours in memory; of a segment's points, the thread's own.
    const TeamPlace in_memory(rows.lines, in_team % rows.lines, in_team / rows.lines);
    const TeamPlace of_points(rows.lines, line, Parts::first(thread));

    SpectrumPart<Point> part(own, barriers + kMostSegments + threadIdx.x / 32, thread % 32);
    const BlockTables<Point> block_tables(block_pairs, barriers + 2 * kMostSegments);
    __syncthreads();
    const auto* tables = static_cast<const Point*>(g.tables);
    const Point* const all_spectra = tables + kTables;
    constexpr int kLeftOut = Shape::kPairsInShared ? 0 : kPairs * kWarps;  // of the block's tables
    block_tables.start_copy(tables + kLeftOut, kTables - kLeftOut);
    const SegmentTables<Point> of_warp{twiddles + warp * (Shape::kTwiddleTable ? kPoints : 1), own,
                                       (Shape::kPairsInShared ? block_pairs : tables) + warp * kPairs};
    block_tables.wait_for();
    const TwiddleBack<Point, Shape::kTwiddleTable> twiddle_back(twiddles, thread);
    const int teams = static_cast<int>(blockDim.x) / (rows.lines * kStep);
    const auto sync = [&] { sync_team<kWarps>(rows.lines, team_of_block, in_block); };

#pragma unroll 1
    for (std::int64_t number = blockIdx.x + static_cast<std::int64_t>(team_of_block) * gridDim.x; number < rows.tiles;
         number += static_cast<std::int64_t>(teams) * gridDim.x) {
        const LineTile tile = line_tile(a, rows, g.segments, number);
        const std::int64_t first_output = tile.tile * g.outputs;
        const int wanted = static_cast<int>(min(a.count - first_output, std::int64_t{g.outputs}));
        const bool is_there = in_memory.line < tile.lines;
        if (is_there) {
            load_line_of_any(a, rows, of_team, in_memory, tile.in + in_memory.line * rows.near.in, g.start + first_output,
                             g.used - (g.outputs - wanted), wanted < g.outputs ? kSamples : g.used, kStep);
        }
        commit_copies();
        wait_copies<0>();
        sync();
        // Segments that do not exist are computed too, as all wait for each other.
        const std::int64_t filter = filter_of(rows, tile, min(line, tile.lines - 1));
        T re[32];
        T im[32];
        const TeamPoints<X, kWarps> load{of_team, rows.lines, line, g};
        Parts::take_apart(re, im, points, thread, in_block, load, sync);
        convolve_points<kWarps, kComplex, Shape, true>(
            re, im, own, of_warp, thread, [&] { part.wait_for(); },
            [&](int direction) {
                if (direction == 0) { fence_before_copy(); }
                __syncwarp();
                if (direction == 0) { part.start_copy(all_spectra + g.spectrum_first + filter * g.spectrum_row + warp * kPoints); }
            });
        bring_points_together<kWarps, kComplex, Parts>(re, im, points, twiddle_back, thread, in_block,
                                                       [&] { sync_segment<kWarps>(in_block); });
        sync();  // all points are used up: outputs lie where those of any segment did
        const std::int64_t row = tile.row + (rows.batch_axis < 0 ? line : 0);
        const SegmentOutputs<X, kWarps> outputs{a, g, row, first_output, line < tile.lines ? wanted : 0, thread, of_points.first};
        bool repair = false;
        fft::for_each_index<0, Shape::kStages>([&](auto stage) {
            constexpr int kStage = decltype(stage)::value;
            if constexpr (kWarps > 2) { Parts::template transform_back<Shape::kStages, kStage>(re, im); }
            if (kStage == 0) { repair = __any_sync(0xffffffffu, !(fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost)); }
            outputs.template add_sums<kStage>(re, im);
            if (outputs.keeps_sums()) {
                if (!repair) { outputs.template keep_sums<kStage>(re, im); }
                return;
            }
            if (a.plain_store == 0) { outputs.template finish_all<kStage>(re, im); }
            outputs.template put<kStage>(re, im, [&](int offset) -> X& { return of_team[of_points.of(offset)]; });
        });
        if (repair && line < tile.lines) {
            const char* const own_taps = static_cast<const char*>(a.taps) + filter * g.filter_bytes;
            const std::int64_t in = tile.in + line * rows.near.in;
            const auto sum_of = [&](std::int64_t o) {
                if constexpr (kComplex) {
                    if (!g.real_taps) { return direct_sum_of_line(a, rows, in, reinterpret_cast<const X*>(own_taps), o, X{}); }
                }
                return direct_sum_of_line(a, rows, in, reinterpret_cast<const T*>(own_taps), o, X{});
            };
            outputs.repair_into(sum_of, [&](int offset) -> X& { return of_team[of_points.of(offset)]; });
        }
        sync();
        if (g.sums_out == nullptr && is_there) {
            const std::int64_t at = tile.out + in_memory.line * rows.near.out + first_output * a.out_sample;
            with_output<X>(a.output_type, rows.output_bytes, [&](auto element) {
                using Raw = decltype(element);
                store_line(of_team, in_memory, static_cast<Raw*>(a.out) + at, a.out_sample, a.output_type, wanted, kStep);
            });
        }
        fence_before_copy();
        sync();
    }
}

}  // namespace tapline::cuda::overlap_save
