// A lane's outputs from a line of samples in shared memory.
#pragma once

#include <type_traits>

#include "cuda/primitives/lines/lines.cuh"
#include "cuda/primitives/sliding_window.cuh"

namespace tapline::cuda {

/// Lines whose samples outside the piece are filled together: they have the same ones, `step` bytes from line to line in memory.
/// `across`: lines of one sample are neighbours there.
struct FilledLines {
    int count;
    std::int64_t step;
    bool across;
};

/// Samples [0, begin) and [end, size) of lines, none of which lies in the piece, by the boundary rule, to place(line, i) each.
/// `row`: line 0's sample in_first; `first`: of sample 0, from there. kPart: bytes of the parts of an element, whose addresses are
/// multiples of them; kOneLine: there is one. Asynchronously, as the others: the caller waits.
template <int kBytes, int kPart, bool kOneLine, class Place>
__device__ __forceinline__ void fill_outside(const Arguments& a, const Rows& rows, const char* row, std::int64_t first, int begin,
                                             int end, int size, const FilledLines& lines, const Team& team, const Place& place) {
    using Raw = typename RawOf<kBytes>::Type;
    constexpr int kAtOnce = 4;  // loads of a thread that are under way together, of elements that are not copied asynchronously
    constexpr bool kAsync = kPart >= 4;
    Raw constant{};
    if (a.boundary == kConstant) { memcpy(&constant, rows.constant, kBytes); }
    const int outside = begin + size - end;
    if (outside == 0) { return; }
    const int most_outer = lines.across ? outside : lines.count;
    using Walk = std::conditional_t<kOneLine, LineWalk, PairWalk>;
    Walk at(team, lines.across ? lines.count : outside);
#pragma unroll 1
    while (at.is_there(most_outer)) {
        Raw x[kAtOnce];
        Raw* to[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
            const int line = lines.across ? at.inner : at.outer;
            const int v = lines.across ? at.outer : at.inner;
            const int i = v < begin ? v : v - begin + end;
            to[k] = at.is_there(most_outer) ? reinterpret_cast<Raw*>(place(line, i)) : nullptr;
            at.advance();
            x[k] = constant;
            if (to[k] == nullptr || a.boundary <= kConstant) { continue; }
            const std::int64_t position = near_boundary_index(a.boundary, a.in_first + first + i, a.n);
            // Where the sample is not there nobody asked for an output that needs it.
            if (position < a.in_first || position >= a.in_last) { continue; }
            const char* const from = row + line * lines.step + (position - a.in_first) * a.in_sample * kBytes;
            if constexpr (kAsync) {
#pragma unroll
                for (int part = 0; part < kBytes; part += kPart) {
                    copy_element_async<kPart>(reinterpret_cast<char*>(to[k]) + part, from + part);
                }
            } else {
                x[k] = *reinterpret_cast<const Raw*>(from);
            }
        }
        if (kAsync && a.boundary > kConstant) { continue; }
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
            if (to[k] != nullptr) { *to[k] = x[k]; }
        }
    }
}

/// Brings the filter to shared memory, by all threads of the block, which wait for it. Whether terms that a zero boundary has not
/// must be left away: 0 * inf must not appear.
template <class H>
__device__ __forceinline__ bool bring_taps(const Arguments& a, H* taps, int threads) {
    const int k = static_cast<int>(a.k);
    bool finite = true;
    for (int t = static_cast<int>(threadIdx.x); t < k; t += threads) {
        taps[t] = static_cast<const H*>(a.taps)[t];
        finite = finite && is_finite(taps[t]);
    }
    const bool any_infinite = __syncthreads_or(!finite) != 0;
    return a.exact_edges != kMayMultiplyZeros && a.boundary == kZero && any_infinite;
}

/// `count` raw elements as sums, both from addresses that lie alike between boundaries of a vector of sums.
template <class X, int kBytes>
__device__ __forceinline__ void widen_all(X* to, const char* from, Dtype type, int count, const Team& team) {
    constexpr int V = kPerVector<X>;
    using Raw = typename RawOf<kBytes>::Type;
    struct alignas(V * kBytes) Wide {
        Raw each[V];
    };
    for (int v = team.thread; v < (count + V - 1) / V; v += team.threads) {
        const Wide wide = reinterpret_cast<const Wide*>(from)[v];
        X x[V];
        widen_raw(type, wide.each, x);
        uint4 vector;
        memcpy(&vector, x, sizeof vector);
        reinterpret_cast<uint4*>(to)[v] = vector;
    }
}

/// sum[i] = the sum over t < k of taps[t] * window[(i + t) * step]: a window of O + V - 1 samples slides along in a ring of
/// registers. Up to V samples more are read, and not used.
template <class X, class H, int O>
__device__ __forceinline__ void convolve_line(X (&sum)[O], const X* window, int step, const H* taps, int k) {
    constexpr int V = kPerVector<X>;
    constexpr int kRing = O + V - 1;
    static_assert(kRing % V == 0);
    X ring[kRing];
#pragma unroll
    for (int i = 0; i < O; ++i) {
        ring[i] = *window;
        window += step;
    }
    const auto add = [&]<bool kWhole>(std::bool_constant<kWhole> /*whole*/, auto chunk, int left) {
        constexpr int c = decltype(chunk)::value * V;
        H tap[V];
        load_taps<V>(tap, taps + (k - left));
#pragma unroll
        for (int j = 0; j < V - 1; ++j) {
            ring[(c + O + j) % kRing] = *window;
            window += step;
        }
#pragma unroll
        for (int j = 0; j < V; ++j) {
            if (kWhole || j == 0 || j < left) {
#pragma unroll
                for (int i = 0; i < O; ++i) { multiply_add(sum[i], ring[(c + i + j) % kRing], tap[j]); }
            }
            if (j == 0) {
                ring[(c + O + V - 1) % kRing] = *window;
                window += step;
            }
        }
    };
    int t = 0;
#pragma unroll 1
    for (; t + kRing <= k; t += kRing) {
        for_turns<0, kRing / V>([&](auto chunk) { add(std::true_type{}, chunk, k - t - decltype(chunk)::value * V); });
    }
    for_turns<0, kRing / V>([&](auto chunk) {
        const int left = k - t - decltype(chunk)::value * V;
        if (left > 0) { add(std::false_type{}, chunk, left); }
    });
}

/// One of them without the terms that a zero boundary has not: 0 * inf must not appear. `first`: of window[0], from sample
/// in_first.
template <class X, class H>
__device__ __noinline__ X sum_of_terms_there(const Arguments& a, const X* window, int step, const H* taps, std::int64_t first) {
    const int k = static_cast<int>(a.k);
    X sum{};
    for (int t = 0; t < k; ++t) {
        if (first + t >= 0 && first + t < a.in_last - a.in_first) { multiply_add(sum, window[t * step], taps[t]); }
    }
    return sum;
}

}  // namespace tapline::cuda
