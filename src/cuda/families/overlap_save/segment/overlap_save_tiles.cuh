// Segments of any layout and type: threads of neighbouring rows read and write together, to and from registers.
#pragma once

#include "cuda/families/overlap_save/overlap_save_outputs.cuh"
#include "cuda/families/overlap_save/overlap_save_samples.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_convolve.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_tiles_ahead.cuh"
#include "cuda/primitives/shared_memory.cuh"

namespace tapline::cuda::overlap_save {

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

/// A thread's outputs of a segment on their way to a line, of which `left` exist from the thread's first one on.
template <class X, class Outputs, int kStage, class T>
__device__ __forceinline__ void store_line(const Arguments& a, const Rows& rows, std::int64_t at, int left, const T* re,
                                           const T* im) {
    using Parts = typename Outputs::Parts;
    constexpr int kGroup = sizeof(X) > 8 ? 4 : 8;
    const auto store_part = [&](auto* to, auto part, const auto& value_of) {
        using Raw = std::remove_reference_t<decltype(*to)>;
        fft::for_each_index<0, Outputs::kOfStage / kGroup>([&](auto group) {
            constexpr int kFrom = decltype(part)::value;
            constexpr int kFirst = decltype(group)::value * kGroup;
            constexpr int kLast = kFrom + Parts::offset(Parts::staged(Outputs::kStages, kStage, kFirst + kGroup - 1));
            if (left <= kFrom + Parts::offset(Parts::staged(Outputs::kStages, kStage, kFirst))) { return; }
            X x[kGroup];
            Raw raw[kGroup];
            fft::for_each_index<0, kGroup>([&](auto index) {
                constexpr int i = decltype(index)::value;
                x[i] = value_of(Parts::held(Parts::staged(Outputs::kStages, kStage, kFirst + i)));
            });
            narrow_to_raw(a.output_type, x, raw);
            const bool all = left > kLast;
            // Step by step: of each by itself the address takes as long as to compute as the rest.
            const std::int64_t stride = a.out_sample;
            Raw* at = to + (kFrom + Parts::offset(Parts::staged(Outputs::kStages, kStage, kFirst))) * stride;
            fft::for_each_index<0, kGroup>([&](auto index) {
                constexpr int i = decltype(index)::value;
                constexpr int kOwn = Parts::offset(Parts::staged(Outputs::kStages, kStage, kFirst + i));
                if (all || left > kFrom + kOwn) { store_element(at, raw[i]); }
                if constexpr (i + 1 < kGroup) {
                    at += (Parts::offset(Parts::staged(Outputs::kStages, kStage, kFirst + i + 1)) - kOwn) * stride;
                }
            });
        });
    };
    with_straight<X>(a.output_type, rows.output_bytes, [&](auto type) {
        auto* const to = static_cast<decltype(type)*>(a.out) + at;
        if constexpr (kIsComplexElement<X>) {
            store_part(to, std::integral_constant<int, 0>{}, [&](int r) { return X{re[r], im[r]}; });
        } else {
            store_part(to, std::integral_constant<int, 0>{}, [&](int r) { return re[r]; });
            store_part(to, std::integral_constant<int, Outputs::kM>{}, [&](int r) { return im[r]; });
        }
    });
}

/// An output with its type.
template <class X>
__device__ __noinline__ void store_any(const Arguments& a, const Rows& rows, std::int64_t at, X x) {
    with_output<X>(a.output_type, rows.output_bytes, [&](auto type) {
        using Raw = decltype(type);
        const X one[1] = {x};
        Raw raw[1];
        narrow_to_raw(a.output_type, one, raw);
        store_element(static_cast<Raw*>(a.out) + at, raw[0]);
    });
}
template <class X>
struct StoredOutput {
    const Arguments& a;
    const Rows& rows;
    std::int64_t at;
    __device__ __forceinline__ void operator=(const X& x) const { store_any(a, rows, at, x); }
};

/// A thread's outputs of a line, summed directly. `line_in`: the line's sample in_first, `line_out`: the thread's first output, in
/// elements.
template <class X, class Outputs>
__device__ __forceinline__ void repair_line(const Arguments& a, const Segments& g, const Outputs& outputs, std::int64_t line_in,
                                            std::int64_t line_out) {
    using T = typename Element<X>::Real;
    const Rows& rows = g.rows;
    const char* const taps = static_cast<const char*>(a.taps) +
                             (rows.filters == 1 ? 0 : (rows.first_filter + outputs.row) % rows.filters) * g.filter_bytes;
    const auto sum_of = [&](std::int64_t o) {
        if constexpr (kIsComplexElement<X>) {
            if (!g.real_taps) { return direct_sum_of_line(a, rows, line_in, reinterpret_cast<const X*>(taps), o, X{}); }
        }
        return direct_sum_of_line(a, rows, line_in, reinterpret_cast<const T*>(taps), o, X{});
    };
    outputs.repair_into(sum_of, [&](int offset) { return StoredOutput<X>{a, rows, line_out + offset * a.out_sample}; });
}

/// A line's samples straight from memory or, if some lie outside or are of rare types, by way of place(). sync(): of its team.
template <class X, int kWarps, class PlaceOf, class Sync>
__device__ __forceinline__ LineSamples<X, kWarps> straight_samples(const Arguments& a, const Segments& g, const KeptTile& tile,
                                                                   const TeamThread<kWarps>& of, const PlaceOf& place,
                                                                   const Sync& sync) {
    const Rows& rows = g.rows;
    const std::int64_t start = g.start + tile.first_output;
    const std::int64_t length = a.in_last - a.in_first;
    const std::int64_t line_in = tile.in + of.line() * rows.near.in;
    const int all_needed = g.used - (g.outputs - tile.wanted);
    const int needed = of.line() < tile.lines ? all_needed : 0;
    const int begin = static_cast<int>(min(max(-start, std::int64_t{g.skip}), std::int64_t{needed}));
    const int end = static_cast<int>(min(max(length - start, std::int64_t{begin}), std::int64_t{needed}));
    X* outside = nullptr;
    // The same for all lines of a team.
    if (!goes_straight(rows.input_type, rows.input_bytes, kOwnType<X>) ||
        (a.boundary != kZero && (start + g.skip < 0 || start + all_needed > length))) {
        sync();
        outside = place();
        fill_line(a, rows, outside, line_in, start, g.skip, needed, of.thread(), 32 * kWarps);
        sync();
    }
    return {a,      rows,    line_in + start * a.in_sample,
            g.skip, needed,  begin,
            end,    outside, begin == g.skip && end == g.used && needed == g.used};
}

/// As overlap_save_kernel, of samples that are widened to X, the type of sums, on their way in. A team of segments, Rows::lines of
/// neighbouring rows, begins and ends together: its threads read samples and write outputs from row to row where these lie closer
/// than samples do, and in between each warp has a row. They change places where points are exchanged anyway: of one or two warps a
/// segment in the transforms of 1,024 points, of more where these are taken apart and brought together. Teams of a block wait for
/// nobody else, so that some read or write while others compute. Samples that come by way of the place of points come there as soon
/// as the points of the tile before are in registers again. kAhead, of one warp a segment: they come to a stage, while the tile
/// before is computed (TilesAhead).
template <class X, int kWarps, class Shape, bool kAhead = false>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    overlap_save_tiles_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    using T = typename Element<X>::Real;
    using Point = typename PointOf<T>::Type;
    constexpr bool kComplex = kIsComplexElement<X>;
    constexpr bool kCouples = Shape::kTwiddleTable && kInCouples<Point>;
    constexpr int kM = kPoints * kWarps;
    constexpr int kTables = kPairs * kWarps + (Shape::kTwiddleTable ? kM : kPoints);
    constexpr int kStep = 32 * kWarps;
    constexpr int kRegion = kExchangePoints<Point>;
    constexpr bool kNearTransforms = kWarps <= 2;  // the outer ones of 32 points, in memory order
    constexpr int kSamples = (kComplex ? 1 : 2) * kM;
    constexpr int kStagedLines = kAhead ? kAheadLines<X> : staged_lines<X, kWarps, Shape>();
    constexpr bool kInPoints = kStagedLines > 0 && !kAhead;  // samples may come where points will lie
    using Parts = Division<kWarps, kComplex, kRegion>;
    using Who = TeamThread<kWarps>;
    const Rows& rows = g.rows;
    const Who who(rows.lines);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;   // of the block
    const int own_warp = kWarps == 1 ? 0 : warp % kWarps;  // of its segment
    const int teams = static_cast<int>(blockDim.x) / (rows.lines * kStep);

    extern __shared__ uint4 tiles_shared[];
    constexpr SharedLayout kLayout = tiles_layout<Shape, kWarps, Point>();
    if constexpr (lacks_shared_memory(kLayout.spectrum + kLayout.segment_bytes) || (kAhead && lacks_arrivals())) { return; }
    char* const base = reinterpret_cast<char*>(tiles_shared);
    Point* const block_pairs = reinterpret_cast<Point*>(base + kLayout.pairs);
    const Point* const twiddles = reinterpret_cast<Point*>(base + kLayout.twiddles);
    const int spectrum_bytes = g.spectrum_in_block != 0 ? kM * static_cast<int>(sizeof(Point)) : 0;
    char* const segments = base + kLayout.spectrum + spectrum_bytes;
    const int line_points = kWarps * kRegion + line_padding<Point>(rows.lines);
    const auto points_of_team = [&] {
        return reinterpret_cast<Point*>(segments + who.anew().team() * rows.lines * kLayout.segment_bytes);
    };
    CopyBarrier* const barriers = reinterpret_cast<CopyBarrier*>(base);
    CopyBarrier* const spectrum_barrier = barriers + kMostSegments + warp;
    const auto tiles = [&] {
        char* const kept = base + 8 * 4 * kMostSegments;
        if constexpr (kAhead) {
            return TilesAhead<X, kSamples>(kept, barriers, who, teams);
        } else {
            return KeptTiles<kWarps, kInPoints>(kept, who);
        }
    }();
    const auto stage = [&] { return segments + teams * rows.lines * kLayout.segment_bytes; };  // kAhead
    const bool is_staged = kInPoints && g.staged != 0;
    const auto place_of_outputs = [&] { return who.anew().place(g.out_by_lines == 0); };

    if (lane == 0) { initialize(spectrum_barrier); }
    const BlockTables<Point> block_tables(block_pairs, barriers + 2 * kMostSegments);
    __syncthreads();
    const auto* tables = static_cast<const Point*>(g.tables);
    constexpr int kLeftOut = Shape::kPairsInShared ? 0 : kPairs * kWarps;  // of the block's tables
    // The spectrum of a first part follows them.
    block_tables.start_copy(tables + kLeftOut, kTables - kLeftOut + (g.spectrum_in_block != 0 ? kM : 0));
    const Point* const pairs = Shape::kPairsInShared ? block_pairs : tables;
    block_tables.wait_for();
    const auto sync = [&] {
        sync_team<kWarps>(rows.lines, who.anew().team(), kWarps == 1 ? 0 : static_cast<int>(threadIdx.x) / kStep);
    };
    const auto fill_points = [&](const KeptTile& tile) {
        if (tile.number >= rows.tiles) { return; }
        const Who of = who.anew();
        if constexpr (kInPoints) {
            fill_stage<kSamples, kStagedLines, kStagedLines * kStep, kComplex>(a, g, reinterpret_cast<char*>(points_of_team()),
                                                                               tile, of.own_line() * kStep + of.own_thread());
        }
        commit_copies();
    };
    if constexpr (kAhead) {
        tiles.start(a, g, stage());
    } else {
        tiles.set_first(a, g, who.team());
        if (kInPoints) {
            sync();
        } else {
            __syncwarp();
        }
        if (is_staged) { fill_points(tiles.of(0)); }
    }

#pragma unroll 1
    for (std::uint32_t turn = 0; tiles.exists(g, turn); ++turn) {
        const KeptTile* const state = &tiles.of(turn);
        const auto set_next = [&] {
            if constexpr (!kAhead) { tiles.set_next(a, g, turn, static_cast<std::int64_t>(teams) * gridDim.x); }
        };
        T re[32];
        T im[32];
        if constexpr (kAhead) {
            const char* const samples = tiles.wait_for(a, g, stage(), turn, sync);
            const Who of = who.anew();
            read_line<kWarps, kComplex>(StagedSamples<X, kWarps, kStagedLines>{rows, samples, of.line()}, re, im, of.thread());
        } else if (is_staged) {
            const Who of = who.anew();
            const char* const stage = reinterpret_cast<const char*>(points_of_team());
            wait_copies<0>();
            sync();
            read_line<kWarps, kComplex>(StagedSamples<X, kWarps, kStagedLines>{rows, stage, of.line()}, re, im, of.thread());
        } else {
            const Who of = who.anew();
            const auto place = [&] { return reinterpret_cast<X*>(points_of_team() + of.line() * line_points); };
            read_line<kWarps, kComplex>(straight_samples<X, kWarps>(a, g, *state, of, place, sync), re, im, of.thread());
        }
        if constexpr (kWarps > 2) { Parts::transform_there(re, im); }
        sync();  // the segments before have been read, and what has been staged
        if constexpr (kAhead) { tiles.ask(a, g, stage(), turn); }
        if (kInPoints) { set_next(); }
        Point* const points = points_of_team();
        Point* const own_points = points + who.anew().own_line() * line_points;
        Point* const own = own_points + own_warp * kRegion;
        const bool passes = g.spectrum_in_block == 0;
        const Point* const products = passes ? own : reinterpret_cast<const Point*>(base + kLayout.spectrum) + own_warp * kPoints;
        SpectrumPart<Point> part(own, spectrum_barrier, lane, turn & 1);
        const auto spectrum_comes = [&] {
            if (passes) { part.wait_for(); }
        };
        const auto exchanged = [&](int direction) {
            if (direction == 0 && passes) { fence_before_copy(); }
            __syncwarp();
            if (direction == 0 && passes) {
                const std::int64_t row = state->row + min(who.anew().own_line(), state->lines - 1) * g.row_steps.near;
                const std::int64_t filter = rows.filters == 1 ? 0 : (rows.first_filter + row) % rows.filters;
                part.start_copy(tables + kTables + g.spectrum_first + filter * g.spectrum_row + own_warp * kPoints);
            }
            if (direction == 1 && kWarps == 2) { sync(); }
        };
        const auto points_free = [&] {
            if (is_staged) {
                sync();
                fill_points(tiles.of(turn + 1));
            }
        };
        if constexpr (kNearTransforms) {
            const int first_warp = kWarps == 1 ? 0 : who.anew().thread() / 32;
            const SegmentTables<Point> of_warp{twiddles + first_warp * (Shape::kTwiddleTable ? kPoints : 1), products};
            const TeamExchange<kWarps, kCouples, Point, decltype(sync)> exchange{who,   points, line_points,
                                                                                 pairs, sync,   g.out_by_lines == 0};
            convolve_points<kWarps, kComplex, Shape, true>(re, im, of_warp, first_warp, lane, exchange, spectrum_comes, exchanged);
            const auto to = place_of_outputs();
            const TwiddleBack<Point, Shape::kTwiddleTable> twiddle_back(twiddles, to.thread);
            bring_points_together<kWarps, kComplex, Parts>(re, im, points_of_team() + to.line * line_points, twiddle_back,
                                                           to.thread, sync, points_free);
        } else {
            const int own_thread = static_cast<int>(threadIdx.x) % kStep;
            Parts::scatter(re, im, points + who.anew().line() * line_points, who.anew().thread());
            sync();
            Parts::gather_own(re, im, own_points, own_thread);
            __syncwarp();
            const SegmentTables<Point> of_warp{twiddles + own_warp * (Shape::kTwiddleTable ? kPoints : 1), products};
            const WarpExchange<kCouples, Point> exchange{own, pairs + own_warp * kPairs, lane};
            convolve_points<kWarps, kComplex, Shape, true>(re, im, of_warp, own_warp, lane, exchange, spectrum_comes, exchanged);
            const TwiddleBack<Point, Shape::kTwiddleTable> twiddle_back(twiddles, own_thread);
            twiddle_points<kWarps, kComplex>(re, im, twiddle_back, own_warp);
            Parts::scatter_own(re, im, own_points, own_thread);
            sync();
            const auto to = place_of_outputs();
            Parts::gather(re, im, points_of_team() + to.line * line_points, to.thread);
            points_free();
        }
        const auto to = place_of_outputs();
        const int mine = Parts::first(to.thread);
        const bool is_there = to.line < state->lines;
        const std::int64_t first_output = state->first_output;
        const std::int64_t row = state->row + to.line * g.row_steps.near;
        using Outputs = SegmentOutputs<X, kWarps>;
        const Outputs outputs{a, g, row, first_output, is_there ? state->wanted : 0, to.thread, mine};
        const std::int64_t line_out = state->out + to.line * rows.near.out + (first_output + mine) * a.out_sample;
        const bool straight = outputs.keeps_sums() || goes_straight(a.output_type, rows.output_bytes, kOwnType<X>);
        const auto sums = [&] { return reinterpret_cast<X*>(points_of_team() + place_of_outputs().line * line_points) + mine; };
        if (!straight) { sync(); }
        bool repair = false;
        fft::for_each_index<0, Shape::kStages>([&](auto stage) {
            constexpr int kStage = decltype(stage)::value;
            if constexpr (kWarps > 2) { Parts::template transform_back<Shape::kStages, kStage>(re, im); }
            if (kStage == 0) { repair = !(fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost); }
            outputs.template add_sums<kStage>(re, im);
            if (outputs.keeps_sums()) {
                outputs.template keep_sums<kStage>(re, im);
                return;
            }
            if (a.plain_store == 0) { outputs.template finish_all<kStage>(re, im); }
            if (straight) {
                store_line<X, Outputs, kStage>(a, rows, line_out, outputs.wanted - mine, re, im);
            } else {
                outputs.template put<kStage>(re, im, [&, at = sums()](int offset) -> X& { return at[offset]; });
            }
        });
        if (!straight) {
            outputs.for_wanted([&](int offset) { store_any(a, rows, line_out + offset * a.out_sample, sums()[offset]); });
        }
        // Where one of a line's threads had to, all those of the warp do.
        const unsigned any = __ballot_sync(0xffffffffu, repair);
        if (any != 0) {
            repair = (__match_any_sync(0xffffffffu, to.line) & any) != 0;
            if (repair && is_there) { repair_line<X>(a, g, outputs, state->in + to.line * rows.near.in, line_out); }
        }
        if (!kInPoints && !kAhead) {  // else set before
            __syncwarp();
            set_next();
            __syncwarp();
        }
    }
}

}  // namespace tapline::cuda::overlap_save
