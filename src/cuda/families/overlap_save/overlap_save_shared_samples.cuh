// How the samples of segments that a cluster's blocks share come to registers.
#pragma once

#include "cuda/families/overlap_save/overlap_save_outputs.cuh"
#include "cuda/families/overlap_save/overlap_save_samples.cuh"

namespace tapline::cuda::overlap_save {

/// A block's samples of a segment: stretches of kThreads, kSpan apart, sample i of each being thread i's. They are read from global
/// memory: copied to shared memory first, in stretches by the copy engine, they took 21 us a segment rather than 17 (16,385 taps).
template <class S, int kThreads, int kSpan>
class SharedSamples {
public:
    static constexpr bool kComplex = kIsComplexElement<S>;
    static constexpr int kStretches = kComplex ? 32 : 64;

    __device__ __forceinline__ SharedSamples(const Arguments& a, const Segments& g, int rank)
        : a_(a),
          g_(g),
          rank_(rank),
          aligned_(reinterpret_cast<std::uintptr_t>(a.in) % static_cast<std::uintptr_t>(sizeof(S)) == 0) {}

    /// Whether all lie in the piece; else they pass through shared memory.
    [[nodiscard]] __device__ __forceinline__ bool is_inner(const SegmentInStep& p) const {
        return aligned_ && p.index >= g_.inner_first && p.index < g_.inner_last;
    }
    /// Of an inner segment; `thread`: of the segment.
    template <class T>
    __device__ __forceinline__ void read(T* re, T* im, const SegmentInStep& p, int thread) const {
        const S* from = first_sample(p);
        int at = thread;
        hide(from, at);
        from += at;
        // Behind the last sample that outputs read the piece may end.
        const bool last = at + (kStretches - 1) * kSpan < g_.used;
        to_points(re, im, thread, [&](auto stretch) {
            constexpr int q = decltype(stretch)::value;
            return q < kStretches - 1 || last ? __ldg(from + kSpan * q) : S{};
        });
    }
    /// Of any segment by way of `place`, a block's shared memory; `wanted`: of its outputs, those that exist.
    template <class T>
    __device__ __forceinline__ void read_at_edge(T* re, T* im, S* place, const SegmentInStep& p, int wanted, int thread) const {
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const int needed = g_.used - (g_.outputs - wanted);
        const S* const row = static_cast<const S*>(a_.in) + p.row * a_.in_row;
        const std::int64_t start = g_.start + static_cast<std::int64_t>(p.index) * g_.outputs;
        __syncthreads();
        for (int q = static_cast<int>(threadIdx.x) / 32; q < kStretches; q += kThreads / 32) {
            const int first = rank_ * kThreads + kSpan * q;
            const int size = min(max(needed - first, 0), kThreads);
            S* const stretch = place + q * kThreads;
            fill_at_edge(a_, stretch, row, start + first, size, lane);
            for (int i = size + lane; i < kThreads; i += 32) { stretch[i] = S{}; }
        }
        __syncthreads();
        to_points(re, im, thread, [&](auto stretch) { return place[decltype(stretch)::value * kThreads + threadIdx.x]; });
    }
    /// The block's share of an inner segment comes nearer, into the L2 cache. By one thread.
    __device__ __forceinline__ void prefetch(const SegmentInStep& p) const {
        if (p.row >= a_.rows || !is_inner(p)) { return; }
        constexpr int kBytes = kStretches * kThreads * static_cast<int>(sizeof(S));
        const char* const first = reinterpret_cast<const char*>(first_sample(p));
        const int bytes = min(kBytes, g_.used * static_cast<int>(sizeof(S)) - rank_ * kBytes) / 16 * 16;
        if (bytes > 0) {
            prefetch_bulk(first - reinterpret_cast<std::uintptr_t>(first) % 16 + rank_ * kBytes, static_cast<std::uint32_t>(bytes));
        }
    }

private:
    [[nodiscard]] __device__ __forceinline__ const S* first_sample(const SegmentInStep& p) const {
        return static_cast<const S*>(a_.in) + p.row * a_.in_row + g_.start + static_cast<std::int64_t>(p.index) * g_.outputs;
    }
    /// Point `thread` + kSpan i to register i. What the outputs do not read is zero, whatever lies there: their bits depend on what
    /// they may read only.
    template <class T, class Sample>
    __device__ __forceinline__ void to_points(T* re, T* im, int thread, const Sample& sample_of) const {
        fft::for_each_index<0, 32>([&](auto index) {
            constexpr int i = decltype(index)::value;
            if constexpr (kComplex) {
                const S point = sample_of(index);
                re[i] = point.x;
                im[i] = point.y;
            } else {
                re[i] = Element<S>::widen(sample_of(index));
                im[i] = Element<S>::widen(sample_of(std::integral_constant<int, i + 32>{}));
            }
        });
        if (thread < g_.skip) {
            re[0] = 0;
            im[0] = kComplex ? 0 : im[0];
        }
        if (thread + (kStretches - 1) * kSpan >= g_.used) {
            re[31] = kComplex ? 0 : re[31];
            im[31] = 0;
        }
    }

    const Arguments& a_;
    const Segments& g_;
    int rank_;
    bool aligned_;
};

}  // namespace tapline::cuda::overlap_save
