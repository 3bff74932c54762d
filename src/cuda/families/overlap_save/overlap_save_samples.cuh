// How overlap-save's samples and spectra come to shared memory while something else is computed.
#pragma once

#include <climits>

#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/bulk_copy.cuh"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/segment.cuh"

namespace tapline::cuda::overlap_save {

/// A segment: its row and its number there. With one filter warps go on in large steps, so that what all of them do at a time lies
/// together.
struct SegmentInStep {
    std::int64_t row;
    int index;

    /// The first one of the warps that are number `slot` of all.
    static __device__ __forceinline__ SegmentInStep first(const Segments& g, std::int64_t /*rows*/, std::int64_t slot) {
        SegmentInStep p{slot / g.segments, 0};
        p.index = static_cast<int>(slot - p.row * g.segments);
        return p;
    }
    [[nodiscard]] __device__ __forceinline__ bool exists(std::int64_t rows) const { return row < rows; }

    /// The one that the same warps do next.
    __device__ __forceinline__ SegmentInStep next(const Segments& g, std::int64_t /*rows*/) const {
        SegmentInStep p{row + g.step_rows, index + g.step_segments};
        if (p.index >= g.segments) {
            p.index -= g.segments;
            ++p.row;
        }
        return p;
    }
    /// Which spectrum, beginning with the launch's first.
    [[nodiscard]] __device__ __forceinline__ std::int64_t filter(const Segments& /*g*/) const { return row; }
};

/// The same with several filters: warps have runs of segments, which go through all rows with one filter before they come to the
/// next. A spectrum is fetched once for many segments, and what many warps fetch at a time is in the L2 cache.
struct SegmentInRun {
    std::int64_t row;
    int index;
    int left;    // of the run, this one included
    int column;  // the first row with its filter

    static __device__ __forceinline__ SegmentInRun first(const Segments& g, std::int64_t rows, std::int64_t slot) {
        const std::int64_t begin = slot * g.run;
        const std::int64_t left = min(static_cast<std::int64_t>(g.run), rows * g.segments - begin);
        const std::int64_t of_order = begin / g.segments;  // of the rows as they are gone through
        // `more` filters have a row more than the others.
        const std::int64_t each = rows / g.filters;
        const std::int64_t more = rows - each * g.filters;
        const bool longer = of_order < more * (each + 1);
        const std::int64_t in_group = longer ? of_order : of_order - more * (each + 1);
        const std::int64_t length = longer ? each + 1 : max(each, std::int64_t{1});
        const std::int64_t column = in_group / length + (longer ? 0 : more);
        return {column + in_group % length * g.filters, static_cast<int>(begin - of_order * g.segments),
                static_cast<int>(max(left, std::int64_t{0})), static_cast<int>(column)};
    }
    [[nodiscard]] __device__ __forceinline__ bool exists(std::int64_t /*rows*/) const { return left > 0; }
    [[nodiscard]] __device__ __forceinline__ SegmentInRun next(const Segments& g, std::int64_t rows) const {
        SegmentInRun p = *this;
        --p.left;
        if (++p.index == g.segments) {
            p.index = 0;
            p.row += g.filters;
            if (p.row >= rows) { p.row = ++p.column; }
        }
        return p;
    }
    [[nodiscard]] __device__ __forceinline__ std::int64_t filter(const Segments& g) const {
        const std::int64_t f = g.first_filter + column;
        return f >= g.filters ? f - g.filters : f;
    }
};
/// Of either, as the launch says: by steps if g.filters is 0, else in runs. A run's steps are single segments, and from one row to
/// the next with its filter.
struct SegmentInOrder : SegmentInRun {
    static __device__ __forceinline__ SegmentInOrder first(const Segments& g, std::int64_t rows, std::int64_t slot) {
        if (g.filters != 0) { return {SegmentInRun::first(g, rows, slot)}; }
        const SegmentInStep p = SegmentInStep::first(g, rows, slot);
        return {{p.row, p.index, p.row < rows ? INT_MAX : 0, 0}};
    }
    [[nodiscard]] __device__ __forceinline__ bool exists(std::int64_t rows) const { return left > 0 && row < rows; }
    [[nodiscard]] __device__ __forceinline__ SegmentInOrder next(const Segments& g, std::int64_t rows) const {
        SegmentInOrder p = *this;
        --p.left;
        p.row += g.step_rows;
        p.index += g.step_segments;
        if (p.index >= g.segments) {
            p.index -= g.segments;
            p.row += max(g.filters, std::int64_t{1});
        }
        if (g.filters != 0 && p.row >= rows) { p.row = ++p.column; }
        return p;
    }
    [[nodiscard]] __device__ __forceinline__ std::int64_t filter(const Segments& g) const {
        return g.filters == 0 ? row : SegmentInRun::filter(g);
    }
};

/// The segment that a warp does after the one that begins: the next in its steps or, with Segments::taken, the first that nobody
/// has. What all warps copy at a time then lies together, which memory answers sooner than segments of warps that are further and
/// further apart: 2^28 samples, 127 taps 541 us instead of 558, 255 taps 549 instead of 566. Where computing limits, it only costs:
/// 511 taps 614 us instead of 600.
///
/// kTakes: of one warp, and one filter for all rows.
template <bool kTakes, class P>
class LaterSegment {
public:
    /// Asks for its number, which comes while this one's samples are transformed.
    __device__ __forceinline__ LaterSegment(const Segments& g, int lane) : g_(g) {
        if (kTakes && g.taken != nullptr && lane == 0) { number_ = atomicAdd(g.taken, 1u); }
    }
    /// By all lanes of the warp.
    [[nodiscard]] __device__ __forceinline__ P after(const P& place, std::int64_t rows) const {
        if constexpr (kTakes) {
            if (g_.taken != nullptr) {
                const auto segments = static_cast<unsigned>(g_.segments);
                const unsigned all_first = gridDim.x * (blockDim.x / 32);
                const unsigned number = all_first + __shfl_sync(0xffffffffu, number_, 0);
                const unsigned row = number / segments;
                return {row, static_cast<int>(number - row * segments)};
            }
        }
        return place.next(g_, rows);
    }

private:
    const Segments& g_;
    unsigned number_ = 0;
};

/// The samples of a segment's kWarps warps, one segment after the other. Inner segments, which lie wholly in the piece, are copied
/// whole, in the background; those at an edge are read sample by sample when their turn comes.
///
/// kRows, and one warp a segment: rows may be short, so that many segments lie at an edge. If zeros lie around the pieces and all
/// is at 16-byte boundaries, nothing is read but what was copied. Of many warps too: a signal's first segment is done 4 us earlier,
/// and so may be all (8,191 taps, 2^24 samples 87 us instead of 93).
template <class S, int kWarps, bool kRows>
class SegmentSamples {
public:
    /// `samples`: shared memory, the segment's own, as `barrier`, which one thread of it initializes here.
    __device__ __forceinline__ SegmentSamples(const Arguments& a, const Segments& g, char* samples, CopyBarrier* barrier,
                                              int segment_of_block, int thread)
        : a_(a), g_(g), samples_(samples), barrier_(barrier), segment_of_block_(segment_of_block), thread_(thread) {
        if (thread == 0) { initialize(barrier); }
    }

    /// By all threads of the segment, after a barrier that follows what they last did with the place.
    template <class P>
    __device__ __forceinline__ void start_copy(const P& place) const {
        const Stretch all = copied(place);
        if (all.bytes == 0) { return; }
#if __CUDA_ARCH__ >= 900
        if (thread_ == 0) { copy_bulk(samples_ + all.at, all.from, static_cast<std::uint32_t>(all.bytes), barrier_); }
#else
        for (int at = 16 * thread_; at < all.bytes; at += 16 * 32 * kWarps) {
            copy_16_async(samples_ + all.at + at, all.from + at);
        }
        commit_copies();
#endif
    }

    /// Brings them nearer, into the L2 cache. By one thread.
    template <class P>
    __device__ __forceinline__ void prefetch(const P& place) const {
        const Stretch all = copied(place);
        if (all.bytes != 0) { prefetch_bulk(all.from, static_cast<std::uint32_t>(all.bytes)); }
    }

    /// Returns sample 0 of the segment once all `used` samples are there; `wanted`: of its outputs, those that exist.
    template <class P>
    __device__ __forceinline__ const S* wait_for(const P& place, int wanted) {
        const bool inner = is_inner(place.index);
        Stretch all{};
        if (!inner) { all = copied(place); }
        if (inner || all.bytes != 0) {
#if __CUDA_ARCH__ >= 900
            wait(barrier_, phase_);
            phase_ ^= 1;
#else
            wait_copies<0>();
            sync_segment<kWarps>(segment_of_block_);
#endif
        }
        const int early = inner || all.bytes != 0 ? misaligned(first_sample(place)) : 0;
        S* const samples = reinterpret_cast<S*>(samples_ + early);
        if (kZeroEdges && g_.zero_edges != 0) {
            if (!inner) {
                write_zeros(0, all.bytes == 0 ? kSamples : all.at / kBytes);
                if (all.bytes != 0) { write_zeros(inside_of(place.index).end, kSamples); }
                sync_segment<kWarps>(segment_of_block_);
            }
        } else if (!inner) {
            const int copied_begin = (all.at - early) / kBytes;
            read_the_rest(a_, g_, place.row, place.index, wanted, copied_begin, copied_begin + all.bytes / kBytes, samples, thread_,
                          segment_of_block_);
            sync_segment<kWarps>(segment_of_block_);
        }
        return samples;
    }

private:
    static constexpr int kBytes = static_cast<int>(sizeof(S));
    static constexpr bool kZeroEdges = kRows || kWarps == 1 || kWarps >= 8;
    static constexpr int kSamples = (kIsComplexElement<S> ? 1 : 2) * kPoints * kWarps;

    /// Samples of a segment that its outputs read and that lie in the piece.
    struct Inside {
        int begin, end;
    };
    __device__ __forceinline__ Inside inside_of(int index) const {
        const std::int64_t first_output = static_cast<std::int64_t>(index) * g_.outputs;
        const std::int64_t first = g_.start + first_output;
        const std::int64_t needed = g_.used - max(first_output + g_.outputs - a_.count, std::int64_t{0});
        const std::int64_t end = min(needed, a_.in_last - a_.in_first - first);
        return {static_cast<int>(min(max(-first, std::int64_t{0}), std::int64_t{kSamples})),
                static_cast<int>(max(end, std::int64_t{0}))};
    }
    /// Of samples [begin, end), by all threads; `end` lies at a vector's boundary.
    __device__ __forceinline__ void write_zeros(int begin, int end) const {
        constexpr int V = 16 / kBytes;
        S* const samples = reinterpret_cast<S*>(samples_);
        const int first_vector = (begin + V - 1) / V;
        if (thread_ < first_vector * V - begin) { samples[begin + thread_] = S{}; }
        for (int v = first_vector + thread_; v < end / V; v += 32 * kWarps) { reinterpret_cast<uint4*>(samples)[v] = uint4{}; }
    }

    /// What is copied in the background, from and to multiples of 16 bytes.
    struct Stretch {
        const char* from;
        int at, bytes;
    };

    __device__ __forceinline__ bool is_inner(int index) const { return index >= g_.inner_first && index < g_.inner_last; }
    template <class P>
    __device__ __forceinline__ const S* first_sample(const P& place) const {
        return static_cast<const S*>(a_.in) + place.row * a_.in_row + g_.start +
               static_cast<std::int64_t>(place.index) * g_.outputs;
    }
    static __device__ __forceinline__ int misaligned(const S* first) {
        return static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % 16);
    }
    /// Samples that outputs read if only `wanted` of them exist.
    static __device__ __forceinline__ int needed(const Segments& g, int wanted) { return g.used - (g.outputs - wanted); }

    /// Of an inner segment everything, up to 15 bytes more at both ends; of one at an edge the whole vectors inside the piece.
    template <class P>
    __device__ __forceinline__ Stretch copied(const P& place) const {
        if (!place.exists(a_.rows)) { return {}; }
        const S* const first = first_sample(place);
        const int early = misaligned(first);
        if (is_inner(place.index)) {
            return {reinterpret_cast<const char*>(first) - early, 0, (early + g_.used * kBytes + 15) / 16 * 16};
        }
        if (kZeroEdges && g_.zero_edges != 0) {
            const Inside inside = inside_of(place.index);
            const int bytes = (inside.end - inside.begin) * kBytes;
            if (bytes <= 0) { return {}; }
            return {reinterpret_cast<const char*>(first + inside.begin), inside.begin * kBytes, (bytes + 15) / 16 * 16};
        }
        return copied_at_edge(a_, g_, first, place.index);
    }
    static __device__ __noinline__ Stretch copied_at_edge(const Arguments& a, const Segments& g, const S* first, int index) {
        const int early = misaligned(first);
        if (a.in_sample != 1 || early % kBytes != 0) { return {}; }
        const std::int64_t first_output = static_cast<std::int64_t>(index) * g.outputs;
        const std::int64_t start = g.start + first_output;
        const std::int64_t length = a.in_last - a.in_first;
        const int end_wanted = needed(g, static_cast<int>(min(a.count - first_output, std::int64_t{g.outputs})));
        const int begin = static_cast<int>(min(max(-start, std::int64_t{0}), static_cast<std::int64_t>(end_wanted)));
        const int end =
            static_cast<int>(min(max(length - start, static_cast<std::int64_t>(begin)), static_cast<std::int64_t>(end_wanted)));
        const int at = (early + begin * kBytes + 15) / 16 * 16;
        // A vector that lies in the piece comes whole: what no output reads is overwritten, and reading the rest would take 4 us.
        const bool goes_on = (length - start - end) * kBytes >= 16;
        const int bytes = (early + end * kBytes + (goes_on ? 15 : 0)) / 16 * 16 - at;
        if (bytes <= 0) { return {}; }
        return {reinterpret_cast<const char*>(first) - early + at, at, bytes};
    }
    /// Where a segment has the signal's ends, as far as it has them, and so the samples that a boundary repeats beyond.
    struct Signal {
        int begin, end, length;

        __device__ __forceinline__ Signal(const Arguments& a, std::int64_t start) {
            constexpr std::int64_t kFar = 1 << 28;
            const std::int64_t first = -(a.in_first + start);
            begin = static_cast<int>(min(max(first, -kFar), kFar));
            end = static_cast<int>(a.n < 0 ? kFar : min(max(first + a.n, -kFar), kFar));
            length = static_cast<int>(a.n < 0 ? kFar : min(a.n, 2 * kFar));
        }
        /// Which sample of the segment its sample w is, one of these or, if it lies elsewhere, a number that is none.
        [[nodiscard]] __device__ __forceinline__ int source(Boundary boundary, int w) const {
            const bool before = w < begin;
            if (!before && w < end) { return w; }
            if (boundary == kReflect) { return 2 * (before ? begin : end) - 1 - w; }
            if (boundary == kMirror) { return before ? 2 * begin - w : 2 * end - 2 - w; }
            if (boundary == kWrap) { return before ? w + length : w - length; }
            return before ? begin : end - 1;
        }
    };
    /// What was not copied, but samples [copied_begin, copied_end), up to the last one that a wanted output reads, and zeros from
    /// there. By all threads of the segment. Most of what a boundary repeats was copied with the others. All in loops of few
    /// instructions, as they come from memory anew for each segment: 4,096 rows of 4,096, 1,025 taps, reflected, all from memory
    /// 129 us, from the segment eight at a time 106, zeros 68 (H100).
    static __device__ __noinline__ void read_the_rest(const Arguments& a, const Segments& g, std::int64_t row_number, int index,
                                                      int wanted, int copied_begin, int copied_end, S* samples, int thread,
                                                      int segment_of_block) {
        constexpr int kThreads = 32 * kWarps;
        constexpr int V = 16 / kBytes;
        const int end_wanted = needed(g, wanted);
        const std::int64_t start = g.start + static_cast<std::int64_t>(index) * g.outputs;
        const std::int64_t length = a.in_last - a.in_first;
#pragma unroll 1
        for (int i = end_wanted + thread; i < kSamples; i += kThreads) { samples[i] = S{}; }
        if (copied_begin >= copied_end) {
            return read_range(a, row_number, start, 0, end_wanted, samples, thread);  // none was
        }
        const int begin = static_cast<int>(max(-start, std::int64_t{0}));
        const int end = static_cast<int>(min(length - start, static_cast<std::int64_t>(end_wanted)));
        if (begin < copied_begin || copied_end < end) {  // parts of vectors
            const int w = thread < V ? begin + thread : copied_end + thread - V;
            if (w < (thread < V ? copied_begin : end) && thread < 2 * V) {
                samples[w] = load_element(static_cast<const S*>(a.in) + row_number * a.in_row + start + w);
            }
            sync_segment<kWarps>(segment_of_block);
        }
        const Signal signal(a, start);
#pragma unroll 1
        for (int part = 0; part < 2; ++part) {
            const int from = part == 0 ? 0 : end;
            const int to = part == 0 ? min(begin, end_wanted) : end_wanted;
            if (from >= to) { continue; }
            if (a.boundary <= kConstant) {
                const S constant = a.boundary == kConstant ? boundary_constant<S>(a) : S{};
#pragma unroll 1
                for (int w = from + thread; w < to; w += kThreads) { samples[w] = constant; }
                continue;
            }
            const int first = signal.source(a.boundary, from);
            const int last = signal.source(a.boundary, to - 1);
            if (min(first, last) >= begin && max(first, last) < end && (part == 0 ? to <= signal.begin : from >= signal.end)) {
#pragma unroll 1
                for (int w = from + thread; w < to; w += kThreads) { samples[w] = samples[signal.source(a.boundary, w)]; }
            } else {
                read_range(a, row_number, start, from, to, samples, thread);
            }
        }
    }
    /// Samples [from, to) wherever they lie in memory.
    static __device__ __noinline__ void read_range(const Arguments& a, std::int64_t row_number, std::int64_t start, int from,
                                                   int to, S* samples, int thread) {
        constexpr int kThreads = 32 * kWarps;
        // At once, so that a thread waits for memory once: 4,096 rows of 4,096, 1,025 taps, reflected, one by one 191 us.
        constexpr int kAtOnce = sizeof(S) > 8 ? 4 : 8;
        const std::int64_t length = a.in_last - a.in_first;
        S constant{};
        if (a.boundary == kConstant) { constant = boundary_constant<S>(a); }
        const S* const row = static_cast<const S*>(a.in) + row_number * a.in_row;
        for (int w = from + thread; w < to; w += kAtOnce * kThreads) {
            S held[kAtOnce];
#pragma unroll
            for (int u = 0; u < kAtOnce; ++u) {
                held[u] = constant;
                if (w + u * kThreads >= to) { continue; }
                std::int64_t at = start + w + u * kThreads;
                if ((at < 0 || at >= length) && a.boundary > kConstant) {
                    at = near_boundary_index(a.boundary, a.in_first + at, a.n) - a.in_first;
                }
                // Where the sample is not there nobody asked for an output that needs it.
                if (at >= 0 && at < length) { held[u] = load_element(row + at * a.in_sample); }
            }
#pragma unroll
            for (int u = 0; u < kAtOnce; ++u) {
                if (w + u * kThreads < to) { samples[w + u * kThreads] = held[u]; }
            }
        }
    }

    const Arguments& a_;
    const Segments& g_;
    char* samples_;
    CopyBarrier* barrier_;
    int segment_of_block_, thread_;
    std::uint32_t phase_ = 0;  // of the barrier, which only bulk copies have
};

/// A block's tables in shared memory, copied while the first samples are on their way.
template <class Point>
class BlockTables {
public:
    /// `barrier` is initialized here by one thread of the block.
    __device__ __forceinline__ BlockTables(Point* place, CopyBarrier* barrier) : place_(place), barrier_(barrier) {
        if (threadIdx.x == 0) { initialize(barrier); }
    }
    /// By all threads of the block, after a barrier.
    __device__ __forceinline__ void start_copy(const Point* from, int points) const {
        const int bytes = points * static_cast<int>(sizeof(Point));
#if __CUDA_ARCH__ >= 900
        if (threadIdx.x == 0) { copy_bulk(place_, from, static_cast<std::uint32_t>(bytes), barrier_); }
#else
        for (int at = 16 * static_cast<int>(threadIdx.x); at < bytes; at += 16 * static_cast<int>(blockDim.x)) {
            copy_16_async(reinterpret_cast<char*>(place_) + at, reinterpret_cast<const char*>(from) + at);
        }
        commit_copies();
#endif
    }
    __device__ __forceinline__ void wait_for() const {
#if __CUDA_ARCH__ >= 900
        wait(barrier_, 0);
#else
        wait_copies<0>();
        __syncthreads();
#endif
    }

private:
    Point* place_;
    CopyBarrier* barrier_;
};

/// A warp's part of a spectrum, passing through a place of shared memory whenever that is not needed otherwise.
template <class Point>
class SpectrumPart {
public:
    __device__ __forceinline__ SpectrumPart(Point* place, CopyBarrier* barrier, int lane)
        : place_(place), barrier_(barrier), lane_(lane) {
        if (lane == 0) { initialize(barrier); }
    }
    /// Of a barrier that has seen `phase` copies before, modulo 2.
    __device__ __forceinline__ SpectrumPart(Point* place, CopyBarrier* barrier, int lane, std::uint32_t phase)
        : place_(place), barrier_(barrier), lane_(lane), phase_(phase) {}
    /// By all lanes, after a barrier that follows what they last did with the place.
    __device__ __forceinline__ void start_copy(const Point* from) const {
        constexpr int kBytes = kPoints * static_cast<int>(sizeof(Point));
#if __CUDA_ARCH__ >= 900
        if (lane_ == 0) { copy_bulk(place_, from, kBytes, barrier_); }
#else
        for (int at = 16 * lane_; at < kBytes; at += 16 * 32) {
            copy_16_async(reinterpret_cast<char*>(place_) + at, reinterpret_cast<const char*>(from) + at);
        }
        commit_copies();
#endif
    }
    __device__ __forceinline__ void wait_for() {
#if __CUDA_ARCH__ >= 900
        wait(barrier_, phase_);
        phase_ ^= 1;
#else
        wait_copies<0>();
        __syncwarp();
#endif
    }

private:
    Point* place_;
    CopyBarrier* barrier_;
    int lane_;
    std::uint32_t phase_ = 0;
};

}  // namespace tapline::cuda::overlap_save
