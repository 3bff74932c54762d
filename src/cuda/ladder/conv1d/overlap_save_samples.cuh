// How overlap-save's samples and spectra come to shared memory while something else is computed.
#pragma once

#include "cuda/ladder/conv1d/overlap_save.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/bulk_copy.cuh"
#include "cuda/primitives/copy_async.cuh"

namespace tapline::cuda::overlap_save {

/// A segment: its row and its number there.
struct Place {
    std::int64_t row;
    int index;

    /// The one that the same warps do next.
    __device__ __forceinline__ Place next(const Segments& g) const {
        Place p{row + g.step_rows, index + g.step_segments};
        if (p.index >= g.segments) {
            p.index -= g.segments;
            ++p.row;
        }
        return p;
    }
};

/// The samples of a segment's kWarps warps, one segment after the other. Inner segments, which lie wholly in the piece, are copied
/// whole, in the background; those at an edge are read sample by sample when their turn comes.
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
    __device__ __forceinline__ void prefetch(const Place& place) const {
        const Stretch all = copied(place);
        if (all.bytes != 0) { prefetch_bulk(all.from, static_cast<std::uint32_t>(all.bytes)); }
    }

    /// Returns sample 0 of the segment once all `used` samples are there; `wanted`: of its outputs, those that exist.
    __device__ __forceinline__ const S* wait_for(const Place& place, int wanted) {
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
        if (!inner) {
            constexpr int kBytes = static_cast<int>(sizeof(S));
            const int copied_begin = (all.at - early) / kBytes;
            read_the_rest(a_, g_, place.row, place.index, wanted, copied_begin, copied_begin + all.bytes / kBytes, samples,
                          thread_);
            sync_segment<kWarps>(segment_of_block_);
        }
        return samples;
    }

private:
    /// What is copied in the background, from and to multiples of 16 bytes.
    struct Stretch {
        const char* from;
        int at, bytes;
    };

    __device__ __forceinline__ bool is_inner(int index) const { return index >= g_.inner_first && index < g_.inner_last; }
    __device__ __forceinline__ const S* first_sample(const Place& place) const {
        return static_cast<const S*>(a_.in) + place.row * a_.in_row + g_.start +
               static_cast<std::int64_t>(place.index) * g_.outputs;
    }
    static __device__ __forceinline__ int misaligned(const S* first) {
        return static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % 16);
    }
    /// Samples that outputs read if only `wanted` of them exist.
    static __device__ __forceinline__ int needed(const Segments& g, int wanted) { return g.used - (g.outputs - wanted); }

    /// Of an inner segment everything, up to 15 bytes more at both ends; of one at an edge the whole vectors inside the piece.
    __device__ __forceinline__ Stretch copied(const Place& place) const {
        constexpr int kBytes = static_cast<int>(sizeof(S));
        if (place.row >= a_.rows) { return {}; }
        const S* const first = first_sample(place);
        const int early = misaligned(first);
        if (is_inner(place.index)) {
            return {reinterpret_cast<const char*>(first) - early, 0, (early + g_.used * kBytes + 15) / 16 * 16};
        }
        return copied_at_edge(a_, g_, first, place.index);
    }
    static __device__ __noinline__ Stretch copied_at_edge(const Arguments& a, const Segments& g, const S* first, int index) {
        constexpr int kBytes = static_cast<int>(sizeof(S));
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
        const int bytes = (early + end * kBytes) / 16 * 16 - at;
        if (bytes <= 0) { return {}; }
        return {reinterpret_cast<const char*>(first) - early + at, at, bytes};
    }
    /// Each warp its share of what was not copied, samples [copied_begin, copied_end), up to the last one that a wanted output
    /// reads, and zeros from there.
    static __device__ __noinline__ void read_the_rest(const Arguments& a, const Segments& g, std::int64_t row_number, int index,
                                                      int wanted, int copied_begin, int copied_end, S* samples, int thread) {
        constexpr int kShare = (kIsComplexElement<S> ? 1 : 2) * kPoints;
        const int lane = thread % 32;
        const int begin = kWarps == 1 ? 0 : thread / 32 * kShare;
        const int end = begin + kShare;
        const int end_wanted = min(max(needed(g, wanted), begin), end);
        const std::int64_t start = g.start + static_cast<std::int64_t>(index) * g.outputs;
        const S* const row = static_cast<const S*>(a.in) + row_number * a.in_row;
#pragma unroll 1
        for (int part = 0; part < 2; ++part) {
            const int from = part == 0 ? begin : max(copied_end, begin);
            const int to = part == 0 ? min(copied_begin, end_wanted) : end_wanted;
            if (from < to) { fill_at_edge(a, samples + from, row, start + from, to - from, lane); }
        }
        for (int i = end_wanted + lane; i < end; i += 32) { samples[i] = S{}; }
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
