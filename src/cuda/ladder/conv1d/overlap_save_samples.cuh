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
        if_inner(place, [&](const char* from, int bytes) {
#if __CUDA_ARCH__ >= 900
            if (thread_ == 0) { copy_bulk(samples_, from, static_cast<std::uint32_t>(bytes), barrier_); }
#else
            for (int at = 16 * thread_; at < bytes; at += 16 * 32 * kWarps) { copy_16_async(samples_ + at, from + at); }
            commit_copies();
#endif
        });
    }

    /// Brings them nearer, into the L2 cache. By one thread.
    __device__ __forceinline__ void prefetch(const Place& place) const {
        if_inner(place, [](const char* from, int bytes) { prefetch_bulk(from, static_cast<std::uint32_t>(bytes)); });
    }

    /// Returns sample 0 of the segment once all `used` samples are there; `wanted`: of its outputs, those that exist.
    __device__ __forceinline__ const S* wait_for(const Place& place, int wanted) {
        if (is_inner(place.index)) {
#if __CUDA_ARCH__ >= 900
            wait(barrier_, phase_);
            phase_ ^= 1;
#else
            wait_copies<0>();
            sync_segment<kWarps>(segment_of_block_);
#endif
            return reinterpret_cast<const S*>(samples_ + misaligned(first_sample(place)));
        }
        read_at_edge(place, wanted);
        sync_segment<kWarps>(segment_of_block_);
        return reinterpret_cast<const S*>(samples_);
    }

private:
    __device__ __forceinline__ bool is_inner(int index) const { return index >= g_.inner_first && index < g_.inner_last; }
    __device__ __forceinline__ const S* first_sample(const Place& place) const {
        return static_cast<const S*>(a_.in) + place.row * a_.in_row + g_.start +
               static_cast<std::int64_t>(place.index) * g_.outputs;
    }
    static __device__ __forceinline__ int misaligned(const S* first) {
        return static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % 16);
    }
    /// Calls copy(from, bytes) for an inner segment. Copies begin at 16-byte boundaries, up to 15 bytes early.
    template <class Copy>
    __device__ __forceinline__ void if_inner(const Place& place, const Copy& copy) const {
        if (place.row >= a_.rows || !is_inner(place.index)) { return; }
        const S* first = first_sample(place);
        const int early = misaligned(first);
        copy(reinterpret_cast<const char*>(first) - early, (early + g_.used * static_cast<int>(sizeof(S)) + 15) / 16 * 16);
    }
    /// Each warp its share, up to the last sample that a wanted output reads, and zeros from there.
    __device__ __forceinline__ void read_at_edge(const Place& place, int wanted) const {
        constexpr int kShare = (kIsComplexElement<S> ? 1 : 2) * kPoints;
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
