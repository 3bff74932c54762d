// 30: thousands of taps, by segments that several multiprocessors transform together: a cluster's blocks share their memory.
#pragma once

#include "cuda/ladder/conv1d/overlap_save_cluster.hpp"
#include "cuda/ladder/conv1d/overlap_save_outputs.cuh"
#include "cuda/ladder/conv1d/overlap_save_samples.cuh"
#include "cuda/primitives/cluster.cuh"
#include "cuda/primitives/remainder.cuh"

namespace tapline::cuda::overlap_save {

/// A block's samples of the segments that it shares: stretches of kThreads, kSpan apart, sample i of each being thread i's.
template <class S, int kThreads, int kSpan>
class SharedSamples {
public:
    static constexpr bool kComplex = kIsComplexElement<S>;
    static constexpr int kStretches = kComplex ? 32 : 64;
    static constexpr int kPitch = kThreads * static_cast<int>(sizeof(S)) + 16;  // bytes: copies begin up to 15 early

    __device__ __forceinline__ SharedSamples(const Arguments& a, const Segments& g, char* place, CopyBarrier* barrier, int rank)
        : a_(a), g_(g), place_(place), barrier_(barrier), rank_(rank) {
        if (threadIdx.x == 0) { initialize(barrier, kStretches); }
    }
    /// By all threads, after a barrier that follows what the cluster last did with the place.
    __device__ __forceinline__ void start_copy(const Place& p) const {
        if (p.row >= a_.rows || !is_inner(p) || threadIdx.x >= kStretches) { return; }
        const int stretch = static_cast<int>(threadIdx.x);
        const char* const first = reinterpret_cast<const char*>(first_sample(p) + rank_ * kThreads + stretch * kSpan);
        const int early = misaligned(p);
        const int samples = min(kThreads, g_.used - rank_ * kThreads - stretch * kSpan);
        copy_bulk(place_ + stretch * kPitch, first - early,
                  static_cast<std::uint32_t>((early + samples * static_cast<int>(sizeof(S)) + 15) / 16 * 16), barrier_);
    }
    /// Waits for them, or reads them where they leave the piece; `wanted`: of the segment's outputs, those that exist.
    __device__ __forceinline__ void wait_for(const Place& p, int wanted) {
        if (is_inner(p)) {
            wait(barrier_, phase_);
            phase_ ^= 1;
            from_ = place_ + misaligned(p);
            return;
        }
        from_ = place_;
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const int needed = g_.used - (g_.outputs - wanted);
        const S* const row = static_cast<const S*>(a_.in) + p.row * a_.in_row;
        const std::int64_t start = g_.start + static_cast<std::int64_t>(p.index) * g_.outputs;
        __syncthreads();
        for (int q = static_cast<int>(threadIdx.x) / 32; q < kStretches; q += kThreads / 32) {
            const int first = rank_ * kThreads + kSpan * q;
            const int size = min(max(needed - first, 0), kThreads);
            S* const stretch = reinterpret_cast<S*>(place_ + q * kPitch);
            fill_at_edge(a_, stretch, row, start + first, size, lane);
            for (int i = size + lane; i < kThreads; i += 32) { stretch[i] = S{}; }
        }
        __syncthreads();
    }
    /// The thread's points, point `thread` + kSpan i in register i; `thread`: of the segment. What the outputs do not read is
    /// zero, whatever lies there: their bits depend on what they may read only.
    template <class T>
    __device__ __forceinline__ void read(T* re, T* im, int thread) const {
        const auto sample_of = [&](int q) { return load_element(reinterpret_cast<const S*>(from_ + q * kPitch) + threadIdx.x); };
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            if constexpr (kComplex) {
                const S point = sample_of(i);
                re[i] = point.x;
                im[i] = point.y;
            } else {
                re[i] = Element<S>::widen(sample_of(i));
                im[i] = Element<S>::widen(sample_of(i + 32));
            }
        }
        if (thread < g_.skip) {
            re[0] = 0;
            im[0] = kComplex ? 0 : im[0];
        }
        if (thread + (kStretches - 1) * kSpan >= g_.used) {
            re[31] = kComplex ? 0 : re[31];
            im[31] = 0;
        }
    }

private:
    [[nodiscard]] __device__ __forceinline__ bool is_inner(const Place& p) const {
        return p.index >= g_.inner_first && p.index < g_.inner_last;
    }
    [[nodiscard]] __device__ __forceinline__ const S* first_sample(const Place& p) const {
        return static_cast<const S*>(a_.in) + p.row * a_.in_row + g_.start + static_cast<std::int64_t>(p.index) * g_.outputs;
    }
    [[nodiscard]] __device__ __forceinline__ int misaligned(const Place& p) const {
        return static_cast<int>(reinterpret_cast<std::uintptr_t>(first_sample(p)) % 16);
    }

    const Arguments& a_;
    const Segments& g_;
    char* place_;
    CopyBarrier* barrier_;
    const char* from_ = nullptr;
    int rank_;
    std::uint32_t phase_ = 0;
};

/// Segments of 65,536 kGroup real or 32,768 kGroup complex samples, each by the blocks of a cluster.
///
/// The 32 kGroup warps divide a segment as those of one block do in rung 27, and are as independent from there to the products and
/// back. Each thread takes 32 points apart; the 32 remainders go to the groups of kGroup warps that have them, wherever in the
/// cluster these are, and their warps divide them further. On the way back threads fetch from there what they put together.
///
/// A block's memory takes turns: samples, remainders from all blocks, remainders for all blocks. Between two of them the cluster
/// has a barrier, of which two hide behind the threads' own transforms.
template <class S, int kGroup, bool kPlain>
__global__ void __launch_bounds__(32 * kBlockWarps<typename Element<S>::Real>, kBlockWarps<float> == 8 ? 2 : 1)
    overlap_save_cluster_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    using T = typename Element<S>::Real;
    using Point = typename PointOf<T>::Type;
    constexpr bool kComplex = kIsComplexElement<S>;
    constexpr int kAllWarps = kRemainders * kGroup;
    constexpr int kWarps = kBlockWarps<T>;
    constexpr int kBlocks = kAllWarps / kWarps;
    constexpr int kGroups = kWarps / kGroup;  // of the block
    constexpr int kThreads = 32 * kWarps;
    using First = Division<kRemainders, kComplex>;
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
    Point* const twists = reinterpret_cast<Point*>(base + kLayout.twists);
    Point* const divisions = reinterpret_cast<Point*>(base + kLayout.divisions);
    Point* const points = reinterpret_cast<Point*>(base + kLayout.points);
    Point* const own = points + warp * kBufferPoints;
    Point* const remainder = points + group * kGroup * kBufferPoints;
    const Point* const division = divisions + group * kDivisionPoints<kGroup>;
    CopyBarrier* const barriers = reinterpret_cast<CopyBarrier*>(base);
    SharedSamples<S, kThreads, 32 * kAllWarps> samples(a, g, reinterpret_cast<char*>(points), barriers, rank);
    static_assert(samples.kStretches * samples.kPitch <= kWarps * kBufferPoints * static_cast<int>(sizeof(Point)));
    CopyBarrier* const come = barriers + 1;
    CopyBarrier* const back = barriers + 2;
    if (threadIdx.x == 0) {
        initialize(come);
        initialize(back);
    }
    constexpr std::uint32_t kBytes = kRemainders * kThreads * sizeof(Point);
    SpectrumPart<Point> part(own, barriers + 3 + warp, lane);
    __syncthreads();

    const std::int64_t first_segment = blockIdx.x / kBlocks;
    Place place{first_segment / g.segments, 0};
    place.index = static_cast<int>(first_segment - place.row * g.segments);
    samples.start_copy(place);

    const auto* tables = static_cast<const Point*>(g.tables);
    copy_by_block<Point>(pairs, tables, kPairs);
    for (int factor = 0; factor < 2; ++factor) {  // of all warps' twists those of the block's
        copy_by_block<Point>(twists + factor * kThreads, tables + kPairs + factor * 32 * kAllWarps + rank * kThreads, kThreads);
    }
    const Point* const all_divisions = tables + kPairs + 64 * kAllWarps;
    copy_by_block<Point>(divisions, all_divisions + rank * kGroups * kDivisionPoints<kGroup>, kGroups * kDivisionPoints<kGroup>);
    const Point* const all_spectra = all_divisions + kRemainders * kDivisionPoints<kGroup>;
    __syncthreads();
    const TwistOf<Point, kWarps, false> twist_of(twists, static_cast<int>(threadIdx.x));

    cluster_arrive();  // all barriers are initialized
    cluster_wait();
    std::uint32_t phase = 0;
    for (; place.row < a.rows;) {
        const std::int64_t first_output = static_cast<std::int64_t>(place.index) * g.outputs;
        const int wanted = static_cast<int>(min(a.count - first_output, std::int64_t{g.outputs}));
        T re[32];
        T im[32];
        samples.wait_for(place, wanted);
        samples.read(re, im, thread);
        cluster_arrive_having_read(re, im);
        if (threadIdx.x == 0) {
            expect_bytes(come, kBytes);
            expect_bytes(back, kBytes);
        }
        First::transform_there(re, im);
        cluster_wait();  // samples have been read
        // The remainders' addresses of the segment, not of all before them.
        Point* memory = points;
        int at = thread;
        hide(memory, at);
        fft::for_each_index<0, kRemainders>([&](auto value) {
            constexpr int v = decltype(value)::value;
            const BlockMemory<Point> block(memory, v / kGroups);
            block.store_counted(v % kGroups * kGroup * kBufferPoints + at, Point{re[v], im[v]},
                                BlockMemory<CopyBarrier>(come, v / kGroups));
        });
        wait(come, phase);  // remainders have come
        Remainder<kGroup>::take_apart(re, im, remainder, division, group, in_group);

        // Two rounds of the same code: times the twists and transformed; times the spectrum and transformed back.
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
            } else {
#pragma unroll
                for (int i = 0; i < 32; ++i) { multiply(y[i], x[i], twist_of(i)); }
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
                    part.start_copy(all_spectra + g.spectrum_first + place.row * g.spectrum_row +
                                    (rank * kWarps + warp) * kPoints);
                } else if (kGroup == 1) {
                    cluster_arrive_relaxed();
                }
            });
#pragma unroll
            for (int i = 0; i < 32; ++i) {
                re[i] = x[i];
                im[i] = y[i];
            }
        }
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            Point w = twist_of(i);
            w.y = -w.y;
            multiply(re[i], im[i], w);
        }
        // Point n of remainder v goes to thread n % kThreads of block n / kThreads.
        at = (group - group / kGroups * kGroups + rank * kGroups) * kThreads + in_group;
        hide(memory, at);
        Remainder<kGroup>::put_together(
            re, im, remainder, division, group, in_group, [&] { cluster_arrive_having_read(re, im); }, [&] { cluster_wait(); },
            [&](auto position, auto index) {
                constexpr int n = decltype(position)::value;
                constexpr int r = decltype(index)::value;
                const BlockMemory<Point> block(memory, n / kThreads);
                block.store_counted(at + n % kThreads, Point{re[r], im[r]}, BlockMemory<CopyBarrier>(back, n / kThreads));
            });
        wait(back, phase);
        phase ^= 1;
        fft::for_each_index<0, kRemainders>([&](auto value) {
            constexpr int v = decltype(value)::value;
            const Point p = points[v * kThreads + threadIdx.x];
            re[fft::reversed(v, 5)] = p.x;
            im[fft::reversed(v, 5)] = p.y;
        });
        fence_before_copy();
        __syncthreads();
        const Place next = place.next(g);
        samples.start_copy(next);
        First::transform_back(re, im);

        const SegmentOutputs<S, kAllWarps, kBlocks> outputs{a, g, place.row, first_output, wanted, thread, thread};
        // Every output depends on every sample, so that one tells of all.
        const bool repair = __any_sync(0xffffffffu, !(fabs(re[0]) + fabs(im[0]) <= Limits<T>::kMost));
        if (a.plain_store == 0) { outputs.finish_all(re, im); }
        if constexpr (kPlain) {
            outputs.store_plain(re, im);
            if (repair) { outputs.store_slowly(points, true); }
        } else {
            outputs.to_shared(points, re, im);
            outputs.store_slowly(points, repair);
        }
        place = next;
    }
    cluster_arrive();  // no block leaves while others write to its memory
    cluster_wait();
}

}  // namespace tapline::cuda::overlap_save
