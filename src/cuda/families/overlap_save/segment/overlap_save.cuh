// 27: from about a hundred taps on, by transforms: one kernel reads the signal once, convolves segments in registers, writes once.
#pragma once

#include "cuda/families/overlap_save/overlap_save_checked.cuh"
#include "cuda/families/overlap_save/overlap_save_outputs.cuh"
#include "cuda/families/overlap_save/overlap_save_samples.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_convolve.cuh"
#include "cuda/primitives/shared_memory.cuh"

namespace tapline::cuda::overlap_save {

/// Segments of 2,048 kWarps real or 1,024 kWarps complex samples, each by kWarps warps that stay and go from segment to segment.
///
/// A real segment x of 2M samples becomes the M points x[n] + i x[n + M]: the remainder of its polynomial modulo X^M - i, which
/// determines it modulo X^2M + 1. So products of points are products of segments that wrap around with a changed sign, and what
/// wraps around is not used. No pairs of frequencies have to be untangled. A complex segment is taken modulo X^M - 1.
///
/// kWarps > 1: a first transform of kWarps points a thread, whose factors the compiler knows, takes the polynomial apart into
/// kWarps remainders modulo X^1024 - e^(i alpha), one for each warp; what a warp has done with its own goes together in the end.
///
/// A warp transforms 32 x 32: each lane 32 points in registers, all exchange them through shared memory, and again. The result
/// lies as the points did, lane p and register q holding frequency p + 32 q, so that the same code, with real and imaginary parts
/// exchanged, is the inverse. Before, point n = p + 32 q is to be multiplied by e^(i alpha n/1024) (`twiddle`): by e^(i alpha q/32)
/// when the transform begins, one factor for all lanes, and by e^(i alpha p/1024) as a part of the second half's own factors. These
/// are the same on the way back, which the spectrum makes up for.
///
/// Of widened samples every output is checked (checked/).
template <class S, int kWarps, class Shape, Spectrum kSpectrum>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    overlap_save_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    using T = typename Element<S>::Real;
    using Point = typename PointOf<T>::Type;
    constexpr bool kComplex = kIsComplexElement<S>;
    constexpr int kM = kPoints * kWarps;  // points of a segment
    constexpr bool kSpectrumInShared = kSpectrum == Spectrum::block;
    constexpr bool kRows = kSpectrum == Spectrum::row;
    constexpr bool kKeeps = kRows && Shape::kOwnSpectrum;  // a segment's warps have a place for their spectrum
    constexpr bool kAnyOrder = kInAnyOrder<kWarps> && !kIsWidened<S>;
    static_assert(!(kRows && kAnyOrder));
    using Where = std::conditional_t<kAnyOrder, SegmentInOrder, std::conditional_t<kRows, SegmentInRun, SegmentInStep>>;
    constexpr int kTwiddles = Shape::kTwiddleTable ? kM : kPoints;
    constexpr int kTables = kPairs * kWarps + kTwiddles;
    constexpr bool kCouples = Shape::kTwiddleTable && kInCouples<Point>;
    using Parts = Division<kWarps, kComplex, kExchangePoints<Point>>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int in_block = static_cast<int>(threadIdx.x) / (32 * kWarps);  // which of the block's segments
    const int thread = static_cast<int>(threadIdx.x) % (32 * kWarps);    // of the segment
    const int warp = kWarps == 1 ? 0 : thread / 32;

    extern __shared__ uint4 shared[];
    constexpr SharedLayout kLayout = shared_layout<Shape, kWarps, sizeof(Point), kSpectrum>();
    if constexpr (lacks_shared_memory(kLayout.segments + kLayout.segment_bytes)) { return; }
    // Where there is room for a place of their own no spectra pass.
    if constexpr (has_227_kb() && kSpectrum == Spectrum::passing && Shape::kTwiddleTable && !kIsWidened<S>) { return; }
    char* const base = reinterpret_cast<char*>(shared);
    Point* const block_pairs = reinterpret_cast<Point*>(base + kLayout.pairs);
    Point* const twiddles = reinterpret_cast<Point*>(base + kLayout.twiddles);
    Point* const points = reinterpret_cast<Point*>(base + kLayout.segments + in_block * kLayout.segment_bytes);
    Point* const own = points + warp * kExchangePoints<Point>;
    Point* const spectrum = kKeeps ? points + kWarps * kExchangePoints<Point> : reinterpret_cast<Point*>(base + kLayout.spectrum);
    Point* const products = kSpectrumInShared || kKeeps ? spectrum + warp * kPoints : own;
    CopyBarrier* const barriers = reinterpret_cast<CopyBarrier*>(base);

    // Samples lie where the points will: both are read before anything is written over them.
    SegmentSamples<S, kWarps, kRows> samples(a, g, reinterpret_cast<char*>(points), barriers + in_block, in_block, thread);
    SpectrumPart<Point> part(products, barriers + kMostSegments + threadIdx.x / 32, lane);
    const BlockTables<Point> block_tables(block_pairs, barriers + 2 * kMostSegments);
    __syncthreads();

    // Neighbours go to different multiprocessors, so that a last round, which is not full, keeps all of them busy.
    // Those of runs stay together: they have the same filter.
    const bool in_runs = kRows || (kAnyOrder && g.filters != 0);
    const std::int64_t first_segment = in_runs ? static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / (32 * kWarps)) + in_block
                                               : static_cast<std::int64_t>(in_block) * gridDim.x + blockIdx.x;
    SegmentEnergy<S, kWarps> energy(base + kEnergyOffset);
    Where place = Where::first(g, a.rows, first_segment);
    // In global memory they lie one after the other as in the block's.
    const auto* tables = static_cast<const Point*>(g.tables);
    const Point* const all_spectra = tables + kTables;
    const Point* const pairs = (Shape::kPairsInShared ? block_pairs : tables) + warp * kPairs;
    constexpr int kLeftOut = Shape::kPairsInShared ? 0 : kPairs * kWarps;  // of the block's tables
    block_tables.start_copy(tables + kLeftOut, kTables - kLeftOut + (kSpectrumInShared ? kM : 0));
    // After the tables, which all wait for: behind all samples they would come 4 us later. Those that have a segment more than the
    // others decide when all is done: the others' samples come after theirs, which else took 4 us longer (2^24 samples: 8,191 taps
    // 87 us instead of 98, 511 taps 47 instead of 50).
    const bool waits = !kRows && g.longer != 0 && first_segment >= g.longer;
    if (!waits) { samples.start_copy(place); }
    const auto fetch_spectrum = [&](const Where& of) {
        part.start_copy(all_spectra + g.spectrum_first + of.filter(g) * g.spectrum_row + warp * kPoints);
    };
    bool is_coming = true;  // a spectrum that is kept
    if (kKeeps && place.exists(a.rows)) { fetch_spectrum(place); }
    block_tables.wait_for();
    if (waits) { samples.start_copy(place); }
    const TwiddleBack<Point, Shape::kTwiddleTable> twiddle_back(twiddles, thread);
    const Point* const own_twiddles = twiddles + warp * (Shape::kTwiddleTable ? kPoints : 1);
    if (!place.exists(a.rows)) { return; }

    for (;;) {
        const LaterSegment<kWarps == 1 && !kRows, Where> later(g, lane);
        Where next = place;
        const std::int64_t first_output = static_cast<std::int64_t>(place.index) * g.outputs;
        const int wanted = static_cast<int>(min(a.count - first_output, std::int64_t{g.outputs}));
        const S* const segment = samples.wait_for(place, wanted);

        T re[32];
        T im[32];
        const SegmentPoints<S, kWarps> points_at{segment, g};
        const auto& load = energy.measured(points_at);
        // Segments of many warps leave no place in shared memory for the next one, but it may come nearer.
        if (Shape::kPrefetches && thread == 0) { samples.prefetch(place.next(g, a.rows)); }
        Parts::take_apart(re, im, points, thread, in_block, load, [&] {
            energy.put();
            sync_segment<kWarps>(in_block);
        });

        const auto spectrum_comes = [&] {
            if constexpr (!kSpectrumInShared) {
                if (!kKeeps || is_coming) { part.wait_for(); }
                if (kKeeps) { is_coming = false; }
            }
        };
        const SegmentTables<Point> of_warp{own_twiddles, products};
        const WarpExchange<kCouples, Point> exchange{own, pairs, lane};
        convolve_points<kWarps, kComplex, Shape, !kSpectrumInShared && !kKeeps>(
            re, im, of_warp, warp, lane, exchange, spectrum_comes, [&](int direction) {
                // The exchange is over: its place may take the spectrum or, of one warp, the next segment's samples. Another
                // filter's spectrum comes once this segment's products are made.
                const bool passes = direction == 0 && !kSpectrumInShared && !kKeeps;
                const bool changes = kKeeps && direction == 1 && place.next(g, a.rows).filter(g) != place.filter(g);
                const bool goes_on = direction == 1 && kWarps == 1;
                if (passes || changes || goes_on) { fence_before_copy(); }
                __syncwarp();
                if (passes) { fetch_spectrum(place); }
                if (changes && place.next(g, a.rows).exists(a.rows)) {
                    fetch_spectrum(place.next(g, a.rows));
                    is_coming = true;
                }
                if (goes_on) {
                    next = later.after(place, a.rows);
                    samples.start_copy(next);
                }
            });
        bring_points_together<kWarps, kComplex, Parts>(re, im, points, twiddle_back, thread, in_block, [&] {
            fence_before_copy();
            energy.get_of_many();
            sync_segment<kWarps>(in_block);
            samples.start_copy(place.next(g, a.rows));
        });

        const SegmentOutputs<S, kWarps> outputs{a, g, place.row, first_output, wanted, thread, Parts::first(thread)};
        OutputChecks<S, kWarps> checks(g.checks, energy, place.row);
        bool repair = false;
        fft::for_each_index<0, Shape::kStages>([&](auto number) {
            constexpr int kStage = decltype(number)::value;
            if constexpr (kWarps > 2) { Parts::template transform_back<Shape::kStages, kStage>(re, im); }
            // Every output depends on every sample, so that one tells of all.
            if (kStage == 0 && !kIsWidened<S>) {
                repair = __any_sync(0xffffffffu, !(fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost));
            }
            checks.template look<Shape::kStages, kStage>(re, im);
            outputs.template add_sums<kStage>(re, im);
            if (outputs.keeps_sums() && !repair) { outputs.template keep_sums<kStage>(re, im); }
            if (a.plain_store == 0 && !outputs.keeps_sums()) { outputs.template finish_all<kStage>(re, im); }
            outputs.template store_plain<kStage>(re, im);
        });
        if constexpr (kIsWidened<S>) {
            checks.tell(a, outputs);
        } else if (repair) {
            outputs.store_slowly(points, true);
        }
        place = kWarps == 1 ? next : place.next(g, a.rows);
        if (!place.exists(a.rows)) { return; }
    }
}

}  // namespace tapline::cuda::overlap_save
