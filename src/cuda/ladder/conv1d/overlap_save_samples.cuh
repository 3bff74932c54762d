// How overlap-save's samples and spectra come to shared memory while something else is computed.
#pragma once

#include "cuda/ladder/conv1d/overlap_save.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/bulk_copy.cuh"
#include "cuda/primitives/copy_async.cuh"

namespace tapline::cuda::overlap_save {

/// A segment: its row and its number there, and how the same warps go on.
///
/// With one filter they go in large steps, so that what all warps do at a time lies together. With several each has a run, which
/// goes through all rows with the same filter before it comes to the next one: a spectrum is fetched once for many segments.
struct Place {
    std::int64_t row;
    int index;
    int left;    // of the run, this one included; with one filter 1 while there is another
    int column;  // the first row with its filter

    /// The first one of the warps that are number `slot` of all.
    static __device__ __forceinline__ Place first(const Segments& g, std::int64_t rows, std::int64_t slot) {
        if (g.filters == 1) {
            const std::int64_t row = slot / g.segments;
            return {row, static_cast<int>(slot - row * g.segments), row < rows, 0};
        }
        const std::int64_t begin = slot * g.run;
        const std::int64_t left = min(static_cast<std::int64_t>(g.run), rows * g.segments - begin);
        const std::int64_t of_order = begin / g.segments;  // rows in the order in which they are gone through
        // `more` filters have one row more than the others.
        const std::int64_t each = rows / g.filters;
        const std::int64_t more = rows - each * g.filters;
        const bool longer = of_order < more * (each + 1);
        const std::int64_t in_group = longer ? of_order : of_order - more * (each + 1);
        const std::int64_t length = longer ? each + 1 : max(each, std::int64_t{1});
        const std::int64_t column = in_group / length + (longer ? 0 : more);
        return {column + in_group % length * g.filters, static_cast<int>(begin - of_order * g.segments),
                static_cast<int>(max(left, std::int64_t{0})), static_cast<int>(column)};
    }
    [[nodiscard]] __device__ __forceinline__ bool exists() const { return left > 0; }

    /// The one that the same warps do next.
    [[nodiscard]] __device__ __forceinline__ Place next(const Segments& g, std::int64_t rows) const {
        Place p = *this;
        if (g.filters == 1) {
            p.row += g.step_rows;
            p.index += g.step_segments;
            if (p.index >= g.segments) {
                p.index -= g.segments;
                ++p.row;
            }
            p.left = p.row < rows;
            return p;
        }
        --p.left;
        if (++p.index == g.segments) {
            p.index = 0;
            p.row += g.filters;
            if (p.row >= rows) { p.row = ++p.column; }
        }
        return p;
    }
    /// Its filter's number.
    [[nodiscard]] __device__ __forceinline__ std::int64_t filter(const Segments& g) const {
        const std::int64_t f = g.first_filter + column;
        return f >= g.filters ? f - g.filters : f;
    }
};

/// The samples of a segment's kWarps warps, one segment after the other. Inner segments, which lie wholly in the piece, are copied
/// whole, in the background; of those at an edge what lies in the piece, if zeros lie around it and all is at 16-byte boundaries.
/// Others are read sample by sample when their turn comes.
template <class S, int kWarps>
class SegmentSamples {
public:
    /// `samples`: shared memory, the segment's own, as `barrier`, which one thread of it initializes here.
    __device__ __forceinline__ SegmentSamples(const Arguments& a, const Segments& g, char* samples, CopyBarrier* barrier,
                                              int segment_of_block, int thread)
        : a_(a), g_(g), samples_(samples), barrier_(barrier), segment_of_block_(segment_of_block), thread_(thread) {
        if (thread == 0) { initialize(barrier); }
    }

    /// By all threads of the segment, after a barrier that follows what they last did with the place.
    __device__ __forceinline__ void start_copy(const Place& place) const {
        if_copied(place, [&](int to, const char* from, int bytes) {
#if __CUDA_ARCH__ >= 900
            if (thread_ == 0) { copy_bulk(samples_ + to, from, static_cast<std::uint32_t>(bytes), barrier_); }
#else
            for (int at = 16 * thread_; at < bytes; at += 16 * 32 * kWarps) { copy_16_async(samples_ + to + at, from + at); }
            commit_copies();
#endif
        });
    }

    /// Brings them nearer, into the L2 cache. By one thread.
    __device__ __forceinline__ void prefetch(const Place& place) const {
        if_copied(place, [](int, const char* from, int bytes) { prefetch_bulk(from, static_cast<std::uint32_t>(bytes)); });
    }

    /// Returns sample 0 of the segment once all `used` samples are there; `wanted`: of its outputs, those that exist.
    __device__ __forceinline__ const S* wait_for(const Place& place, int wanted) {
        if (is_inner(place.index)) {
            wait_for_copy();
            return reinterpret_cast<const S*>(samples_ + misaligned(first_sample(place)));
        }
        if (g_.zero_edges != 0) {
            const Inside inside = inside_of(place.index);
            if (inside.begin < inside.end) { wait_for_copy(); }
            write_zeros(0, inside.begin);
            write_zeros(inside.end, kShare * kWarps);
        } else {
            read_at_edge(place, wanted);
        }
        sync_segment<kWarps>(segment_of_block_);
        return reinterpret_cast<const S*>(samples_);
    }

private:
    static constexpr int kShare = (kIsComplexElement<S> ? 1 : 2) * kPoints;  // samples of a warp
    static constexpr int kBytes = static_cast<int>(sizeof(S));

    /// Samples of an edge segment that its outputs read and that lie in the piece.
    struct Inside {
        int begin, end;
    };

    __device__ __forceinline__ bool is_inner(int index) const { return index >= g_.inner_first && index < g_.inner_last; }
    __device__ __forceinline__ const S* first_sample(const Place& place) const {
        return static_cast<const S*>(a_.in) + place.row * a_.in_row + g_.start +
               static_cast<std::int64_t>(place.index) * g_.outputs;
    }
    static __device__ __forceinline__ int misaligned(const S* first) {
        return static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % 16);
    }
    __device__ __forceinline__ Inside inside_of(int index) const {
        const std::int64_t first_output = static_cast<std::int64_t>(index) * g_.outputs;
        const std::int64_t first = g_.start + first_output;
        const std::int64_t needed = g_.used - max(first_output + g_.outputs - a_.count, std::int64_t{0});
        const std::int64_t end = min(needed, a_.in_last - a_.in_first - first);
        const std::int64_t begin = min(max(-first, std::int64_t{0}), std::int64_t{kShare} * kWarps);
        return {static_cast<int>(begin), static_cast<int>(max(end, begin))};
    }
    /// Calls copy(to, from, bytes) for a segment that is copied. Copies begin at 16-byte boundaries, up to 15 bytes early.
    template <class Copy>
    __device__ __forceinline__ void if_copied(const Place& place, const Copy& copy) const {
        if (!place.exists()) { return; }
        const S* first = first_sample(place);
        int to = 0;
        int bytes = 0;
        int early = 0;
        if (is_inner(place.index)) {
            early = misaligned(first);
            bytes = early + g_.used * kBytes;
        } else if (g_.zero_edges != 0) {
            const Inside inside = inside_of(place.index);
            to = inside.begin * kBytes;
            bytes = (inside.end - inside.begin) * kBytes;
        }
        if (bytes > 0) { copy(to, reinterpret_cast<const char*>(first) - early + to, (bytes + 15) / 16 * 16); }
    }
    __device__ __forceinline__ void wait_for_copy() {
#if __CUDA_ARCH__ >= 900
        wait(barrier_, phase_);
        phase_ ^= 1;
#else
        wait_copies<0>();
        sync_segment<kWarps>(segment_of_block_);
#endif
    }
    /// Of samples [begin, end), by all threads; `end` lies at a vector's boundary.
    __device__ __forceinline__ void write_zeros(int begin, int end) const {
        constexpr int V = 16 / kBytes;
        S* const samples = reinterpret_cast<S*>(samples_);
        const int first_vector = (begin + V - 1) / V;
        if (thread_ < first_vector * V - begin) { samples[begin + thread_] = S{}; }
        for (int v = first_vector + thread_; v < end / V; v += 32 * kWarps) { reinterpret_cast<uint4*>(samples)[v] = uint4{}; }
    }
    /// Each warp its share, up to the last sample that a wanted output reads, and zeros from there.
    __device__ __forceinline__ void read_at_edge(const Place& place, int wanted) const {
        const int lane = thread_ % 32;
        const int warp = kWarps == 1 ? 0 : thread_ / 32;
        S* const share = reinterpret_cast<S*>(samples_) + warp * kShare;
        const int needed = min(max(g_.used - (g_.outputs - wanted) - warp * kShare, 0), kShare);
        const std::int64_t first_output = static_cast<std::int64_t>(place.index) * g_.outputs;
        fill_at_edge(a_, share, static_cast<const S*>(a_.in) + place.row * a_.in_row, g_.start + first_output + warp * kShare,
                     needed, lane);
        for (int i = needed + lane; i < kShare; i += 32) { share[i] = S{}; }
    }

    const Arguments& a_;
    const Segments& g_;
    char* samples_;
    CopyBarrier* barrier_;
    int segment_of_block_, thread_;
    std::uint32_t phase_ = 0;  // of the barrier, which only bulk copies have
};

/// A warp's part of a spectrum, passing through a place of shared memory whenever that is not needed otherwise.
template <class Point>
class SpectrumPart {
public:
    __device__ __forceinline__ SpectrumPart(Point* place, CopyBarrier* barrier, int lane)
        : place_(place), barrier_(barrier), lane_(lane) {
        if (lane == 0) { initialize(barrier); }
    }
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
