// 51: rows side by side in memory, short ones or with filters of their own: a thread makes a few outputs of neighbouring rows.
#pragma once

#include "cuda/families/direct/rows/direct_across.cuh"
#include "cuda/families/direct/rows/direct_columns.hpp"

namespace tapline::cuda::columns {

using across::Samples;
using across::Tap;

/// Where a thread's window lies.
struct Window {
    std::int64_t first;   // sample 0, from sample in_first
    std::int64_t length;  // of the piece
    int needed;           // samples
};

/// kCount samples of C neighbouring rows from sample `from` of the window on, those before `end` of it; `row`: sample in_first.
/// kInside: all lie in the piece. The loads are under way together.
template <class X, class Raw, int C, int kCount, bool kInside>
__device__ __forceinline__ void read_samples(const Arguments& a, const Rows& rows, const Window& w, const Raw* row, int from, int end,
                                             X (&to)[kCount * C]) {
    using Cell = Samples<Raw, C>;
    constexpr int kParts = kIsComplexElement<Raw> && C == 1 ? 2 : 1;  // complex numbers lie on their parts
    Raw raw[kCount * C];
    const Raw* each = row + (w.first + from) * a.in_sample;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        Cell cell{};
        if (from + i < end) {
            const Raw* at = each;
            bool there = true;
            if constexpr (!kInside) {
                const std::int64_t place = w.first + from + i;
                there = place >= 0 && place < w.length;
                if (!there && a.boundary > kConstant) {
                    const std::int64_t other = near_boundary_index(a.boundary, a.in_first + place, a.n) - a.in_first;
                    there = other >= 0 && other < w.length;  // else nobody asked for an output that needs it
                    at = row + other * a.in_sample;
                }
                if (!there && a.boundary == kConstant) {
#pragma unroll
                    for (int c = 0; c < C; ++c) { memcpy(&cell.each[c], rows.constant, sizeof(Raw)); }
                }
            }
            if (there) {
                if constexpr (kParts == 2) {
                    cell.each[0] = load_element(at);
                } else {
                    cell = *reinterpret_cast<const Cell*>(at);
                }
            }
        }
        each += a.in_sample;
#pragma unroll
        for (int c = 0; c < C; ++c) { raw[i * C + c] = cell.each[c]; }
    }
    if constexpr (std::is_same_v<X, Raw>) {
#pragma unroll
        for (int i = 0; i < kCount * C; ++i) { to[i] = raw[i]; }
    } else {
        widen_raw(rows.input_type, raw, to);
    }
}

/// sum[i * C + c] = the sum over t of tap t of row c * sample i + t of the window. Filters of their own: `taps` is the thread's
/// column, `pitch` cells from one tap to the next.
template <class X, class H, class Raw, int C, bool kOwn, bool kInside>
__device__ __forceinline__ void convolve_window(const Arguments& a, const Rows& rows, const Window& w, const Raw* row,
                                                const Tap<H, C, kOwn>* taps, int pitch, X (&sum)[kOutputs * C]) {
    constexpr int O = kOutputs;
    constexpr int V = 16 / static_cast<int>(sizeof(H)) < O ? 16 / static_cast<int>(sizeof(H)) : O;
    const int k = static_cast<int>(a.k);
    X x[O * C];
    X next[O * C];
    read_samples<X, Raw, C, O, kInside>(a, rows, w, row, 0, w.needed, x);
#pragma unroll 1
    for (int t = 0; t < k; t += O) {
        const int left = k - t;
        // Behind the last tap of all no sample is needed.
        const int end = t + O + min(left, O) - 1;
        read_samples<X, Raw, C, O, kInside>(a, rows, w, row, t + O, min(end, w.needed), next);
#pragma unroll
        for (int v = 0; v < O; v += V) {
            if (v >= left) { break; }
            H tap[kOwn ? C : V];
            if constexpr (!kOwn) { load_taps<V>(tap, taps + t + v); }
#pragma unroll
            for (int j = 0; j < V; ++j) {
                if (v + j < left) {
                    if constexpr (kOwn) {
                        const Samples<H, C> cell = taps[(t + v + j) * pitch];
#pragma unroll
                        for (int c = 0; c < C; ++c) { tap[c] = cell.each[c]; }
                    }
#pragma unroll
                    for (int i = 0; i < O; ++i) {
                        const int at = v + j + i;
#pragma unroll
                        for (int c = 0; c < C; ++c) {
                            multiply_add(sum[i * C + c], at < O ? x[at * C + c] : next[(at - O) * C + c], tap[kOwn ? c : j]);
                        }
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < O * C; ++i) { x[i] = next[i]; }
    }
}

/// Output `i` of row `c` of a window under taps of which some are infinite: terms that a zero boundary has not stay absent.
template <class X, class H, class Raw>
__device__ __noinline__ X sum_of_samples_there(const Arguments& a, const Rows& rows, const Window& w, const Raw* row, const H* taps,
                                               int i) {
    X sum{};
    for (std::int64_t t = 0; t < a.k; ++t) {
        const std::int64_t place = w.first + i + t;
        if (place < 0 || place >= w.length) { continue; }
        const Raw raw[1] = {load_element(row + place * a.in_sample)};
        X x[1];
        widen_raw(rows.input_type, raw, x);
        multiply_add(sum, x[0], taps[t]);
    }
    return sum;
}

/// Filters of C rows to a column of shared memory, a vector of taps at a time; whether all taps are finite.
template <class H, int C>
__device__ __forceinline__ bool bring_column(const Arguments& a, const Rows& rows, const LineTile& tile, std::int64_t filter_bytes,
                                             Samples<H, C>* taps, int pitch, int part, int parts) {
    constexpr int V = 16 / static_cast<int>(sizeof(H));
    const int k = static_cast<int>(a.k);
    bool finite = true;
#pragma unroll
    for (int c = 0; c < C; ++c) {
        if (c < tile.lines) {
            const auto* const own =
                reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + filter_of(rows, tile, c) * filter_bytes);
            for (int t = part * V; t < k; t += parts * V) {
                H tap[V];
                load_taps<V>(tap, own + t);
#pragma unroll
                for (int j = 0; j < V; ++j) {
                    if (t + j < k) {
                        taps[(t + j) * pitch].each[c] = tap[j];
                        finite = finite && is_finite(tap[j]);
                    }
                }
            }
        }
    }
    return finite;
}

/// A thread makes kOutputs outputs of C neighbouring rows from a window that it reads itself: what its neighbours read too comes from
/// the first-level cache. Nothing passes through shared memory but taps, so that a row of a few samples costs no more than they do.
template <class X, class H, class Raw, int C, bool kOwn>
__global__ void __launch_bounds__(32 * kMostWarps, 2)
    direct_columns_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Rows rows, const __grid_constant__ Columns g) {
    constexpr int O = kOutputs;
    extern __shared__ uint4 shared[];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int threads = static_cast<int>(blockDim.x);
    auto* const taps = reinterpret_cast<Tap<H, C, kOwn>*>(shared);

    const std::int64_t block = static_cast<std::int64_t>(blockIdx.x);
    const std::int64_t number = g.along != 0 ? block : block * 32 + lane;
    const bool exists = number < rows.tiles;
    const LineTile tile = line_tile(a, rows, a.tiles, exists ? number : 0);
    const Tap<H, C, kOwn>* mine = taps;
    bool may_be_absent = false;
    if constexpr (kOwn) {
        const int pitch = g.along != 0 ? 1 : 32;
        auto* const column = taps + (g.along != 0 ? 0 : lane);
        const bool finite = bring_column<H, C>(a, rows, tile, g.filter_bytes, column, pitch,
                                               g.along != 0 ? static_cast<int>(threadIdx.x) : warp,
                                               g.along != 0 ? threads : threads / 32);
        may_be_absent = __syncthreads_or(!finite) != 0 && a.exact_edges != kMayMultiplyZeros && a.boundary == kZero;
        mine = column;
    } else {
        may_be_absent = bring_taps(a, taps, threads);
    }
    const std::int64_t o = g.along != 0 ? (tile.tile * threads + static_cast<int>(threadIdx.x)) * O : (tile.tile * (threads / 32) + warp) * O;
    if (!exists || o >= a.count) { return; }
    const int count = static_cast<int>(min(a.count - o, std::int64_t{O}));
    const Window w{a.first - a.origin - a.in_first + o, a.in_last - a.in_first, count + static_cast<int>(a.k) - 1};
    const Raw* const row = static_cast<const Raw*>(a.in) + tile.in;
    const bool inside = w.first >= 0 && w.first + w.needed <= w.length;
    X sum[O * C] = {};
    if (inside) {
        convolve_window<X, H, Raw, C, kOwn, true>(a, rows, w, row, mine, g.along != 0 ? 1 : 32, sum);
    } else if (!may_be_absent) {
        convolve_window<X, H, Raw, C, kOwn, false>(a, rows, w, row, mine, g.along != 0 ? 1 : 32, sum);
    } else {
#pragma unroll
        for (int i = 0; i < O; ++i) {
#pragma unroll
            for (int c = 0; c < C; ++c) {
                const auto* const filter = static_cast<const char*>(a.taps) + filter_of(rows, tile, c) * g.filter_bytes;
                if (i < count) {
                    sum[i * C + c] = sum_of_samples_there<X>(a, rows, w, row + c, reinterpret_cast<const H*>(filter), i);
                }
            }
        }
    }
    if (!a.plain_store) {
#pragma unroll
        for (int i = 0; i < O * C; ++i) { sum[i] = finish(a, sum[i]); }
    }
    with_output<X>(a.output_type, rows.output_bytes, [&](auto element) {
        std::int64_t to = tile.out + o * a.out_sample;
#pragma unroll
        for (int i = 0; i < O; ++i) {
            X one[C];
#pragma unroll
            for (int c = 0; c < C; ++c) { one[c] = sum[i * C + c]; }
            if (i < count) { across::put_outputs<X, decltype(element)>(a, one, to); }
            to += a.out_sample;
        }
    });
}

}  // namespace tapline::cuda::columns
