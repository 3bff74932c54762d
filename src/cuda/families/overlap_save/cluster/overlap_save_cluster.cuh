// 30: thousands of taps, by segments that several multiprocessors transform together: a cluster's blocks share their memory.
#pragma once

#include "cuda/families/overlap_save/cluster/overlap_save_cluster.hpp"
#include "cuda/families/overlap_save/cluster/remainder.cuh"
#include "cuda/families/overlap_save/overlap_save_shared_samples.cuh"
#include "cuda/primitives/cluster.cuh"

namespace tapline::cuda::overlap_save {

/// Segments of 65,536 kGroup real or 32,768 kGroup complex samples, each by the blocks of a cluster.
///
/// The 32 kGroup warps divide a segment as those of one block do in rung 27, and are as independent from there to the products and
/// back. Each thread takes 32 points apart; the 32 remainders go to the groups of kGroup warps that have them, wherever in the
/// cluster these are, and their warps divide them further. On the way back threads fetch from there what they put together.
///
/// A block waits for the others three times a segment: for its remainders, for those that it fetches, and, before it writes the
/// next segment's, until all have fetched these: meanwhile it stores outputs and reads samples.
template <class S, int kGroup>
__global__ void __launch_bounds__(32 * kBlockWarps<typename Element<S>::Real>, 1)
    overlap_save_cluster_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    using T = typename Element<S>::Real;
    using Point = typename PointOf<T>::Type;
    constexpr int kAllWarps = kRemainders * kGroup;
    constexpr int kWarps = kBlockWarps<T>;
    constexpr int kBlocks = kAllWarps / kWarps;
    constexpr int kGroups = kWarps / kGroup;  // of the block
    constexpr int kThreads = 32 * kWarps;
    using First = Division<kRemainders, kIsComplexElement<S>>;
    constexpr ClusterLayout kLayout = cluster_layout(kGroup, kWarps, sizeof(Point));
    const int rank = cluster_rank();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int thread = rank * kThreads + static_cast<int>(threadIdx.x);  // of the segment
    const int group = warp / kGroup;
    const int in_group = static_cast<int>(threadIdx.x) % (32 * kGroup);

    extern __shared__ uint4 shared[];
    char* const base = reinterpret_cast<char*>(shared);
    Point* const pairs = reinterpret_cast<Point*>(base + kLayout.pairs);
    Point* const twiddles = reinterpret_cast<Point*>(base + kLayout.twiddles);
    Point* const divisions = reinterpret_cast<Point*>(base + kLayout.divisions);
    Point* const points = reinterpret_cast<Point*>(base + kLayout.points);
    Point* const own = points + warp * kBufferPoints;
    Point* const remainder = points + group * kGroup * kBufferPoints;
    const Point* const division = divisions + group * kDivisionPoints<kGroup>;
    const SharedSamples<S, kThreads, 32 * kAllWarps> samples(a, g, rank);
    // Pairs of real numbers need not be aligned as a whole; plain stores want them so.
    const bool is_plain = a.plain_layout != 0 && reinterpret_cast<std::uintptr_t>(a.out) % sizeof(S) == 0;
    SpectrumPart<Point> part(own, reinterpret_cast<CopyBarrier*>(base) + warp, lane);

    const std::int64_t first_segment = blockIdx.x / kBlocks;
    SegmentInStep place{first_segment / g.segments, 0};
    place.index = static_cast<int>(first_segment - place.row * g.segments);

    const auto* tables = static_cast<const Point*>(g.tables);
    copy_by_block<Point>(pairs, tables, kPairs);
    for (int factor = 0; factor < 2; ++factor) {  // of all warps' twiddles those of the block's
        copy_by_block<Point>(twiddles + factor * kThreads, tables + kPairs + factor * 32 * kAllWarps + rank * kThreads, kThreads);
    }
    const Point* const all_divisions = tables + kPairs + 64 * kAllWarps;
    copy_by_block<Point>(divisions, all_divisions + rank * kGroups * kDivisionPoints<kGroup>, kGroups * kDivisionPoints<kGroup>);
    const Point* const all_spectra = all_divisions + kRemainders * kDivisionPoints<kGroup>;
    __syncthreads();
    const TwiddleOf<Point, kWarps> twiddle_of(twiddles, static_cast<int>(threadIdx.x));
    cluster_arrive();

    for (; place.row < a.rows; place = place.next(g, a.rows)) {
        const std::int64_t first_output = static_cast<std::int64_t>(place.index) * g.outputs;
        const int wanted = static_cast<int>(min(a.count - first_output, std::int64_t{g.outputs}));
        T re[32];
        T im[32];
        if (samples.is_inner(place)) {
            samples.read(re, im, place, thread);
        } else {
            cluster_wait();
            samples.read_at_edge(re, im, reinterpret_cast<S*>(points), place, wanted, thread);
            cluster_arrive();
        }
        if (threadIdx.x == 0) { samples.prefetch(place.next(g, a.rows)); }
        First::transform_there(re, im);
        cluster_wait();  // nobody reads this memory any more
        // The remainders' addresses of the segment, not of all before them.
        Point* memory = points;
        int at = thread;
        hide(memory, at);
        fft::for_each_index<0, kRemainders>([&](auto value) {
            constexpr int v = decltype(value)::value;
            const BlockMemory<Point> block(memory, v / kGroups);
            block.store(v % kGroups * kGroup * kBufferPoints + at, Point{re[v], im[v]});
        });
        cluster_arrive();
        cluster_wait();  // remainders have come
        Remainder<kGroup>::take_apart(re, im, remainder, division, group, in_group);

        // Two rounds of the same code: times the twiddles and transformed; times the spectrum and transformed back.
#pragma unroll 1
        for (int direction = 0; direction < 2; ++direction) {
            T x[32];
            T y[32];
            exchange_parts(x, y, re, im);
            if (direction == 1) {
                part.wait_for();
                multiply_by_lane(y, x, own, lane);
            } else {
#pragma unroll
                for (int i = 0; i < 32; ++i) { multiply(y[i], x[i], twiddle_of(i)); }
            }
            const auto pair = [&](int i, T* c, T* t) {
                const Point p = pairs[32 * i + lane];
                *c = p.x;
                *t = p.y;
            };
            transform_warp(x, y, own, lane, pair, [&] {
                if (direction == 0) { fence_before_copy(); }
                __syncwarp();
                if (direction == 0) {
                    part.start_copy(all_spectra + g.spectrum_first + place.row * g.spectrum_row + (rank * kWarps + warp) * kPoints);
                }
            });
            copy_points(re, im, x, y);
        }
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            Point w = twiddle_of(i);
            w.y = -w.y;
            multiply(re[i], im[i], w);
        }
        Remainder<kGroup>::put_together(re, im, remainder, division, group, in_group);
        cluster_arrive();
        cluster_wait();  // remainders can be fetched
        at = thread;
        hide(memory, at);
        fft::for_each_index<0, kRemainders>([&](auto value) {
            constexpr int v = decltype(value)::value;
            const BlockMemory<Point> block(memory, v / kGroups);
            const Point p = block.load(v % kGroups * kGroup * kBufferPoints + at);
            re[fft::reversed(v, 5)] = p.x;
            im[fft::reversed(v, 5)] = p.y;
        });
        cluster_arrive();
        First::transform_back(re, im);

        const SegmentOutputs<S, kAllWarps, kBlocks> outputs{a, g, place.row, first_output, wanted, thread, thread};
        // Every output depends on every sample, so that one tells of all.
        const bool repair = __any_sync(0xffffffffu, !(fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost));
        if (a.plain_store == 0) { outputs.finish_all(re, im); }
        if (is_plain) {
            outputs.store_plain(re, im);
            if (repair) { outputs.store_slowly(points, true); }
        } else {
            cluster_wait();
            outputs.to_shared(points, re, im);
            outputs.store_slowly(points, repair);
            cluster_arrive();
        }
    }
    cluster_wait();  // no block leaves while others read its memory
}

}  // namespace tapline::cuda::overlap_save
