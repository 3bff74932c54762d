// 32: rows side by side in memory: lanes lie across them, and each walks along its own.
#pragma once

#include "cuda/families/direct/rows/direct_across.hpp"
#include "cuda/families/direct/rows/line_window.cuh"

namespace tapline::cuda::across {

/// What a lane has of one time: a sample of each of its C rows.
template <class X, int C>
struct alignas(C == 1 ? alignof(X) : C * sizeof(X)) Samples {
    X each[C];
};

/// Samples of a part, the first of which is sample `first` of rows of `length`, where some lie outside; `rows`: their samples 0.
/// Asynchronously, kPart bytes at a time: a wait for each one that is repeated would be longer than all the rest of a short launch.
template <class X, int C, int O, int kPart>
__device__ __noinline__ void fill_part(const Arguments& a, Samples<X, C>* to, const X* rows, std::int64_t first,
                                       std::int64_t length) {
    Samples<X, C> beyond{};
    if (a.boundary == kConstant) {
#pragma unroll
        for (int c = 0; c < C; ++c) { beyond.each[c] = boundary_constant<X>(a); }
    }
    for (int i = 0; i < O; ++i) {
        std::int64_t at = first + i;
        if (at < 0 || at >= length) { at = near_boundary_index(a.boundary, a.in_first + at, a.n) - a.in_first; }
        if (at < 0 || at >= length) {
            to[i * kLanes] = beyond;
            continue;
        }
        const auto* const from = reinterpret_cast<const char*>(rows + at * a.in_sample);
#pragma unroll
        for (int part = 0; part < static_cast<int>(sizeof beyond); part += kPart) {
            copy_element_async<kPart>(reinterpret_cast<char*>(to + i * kLanes) + part, from + part);
        }
    }
}

/// Taps in shared memory: one filter for all lanes, or a column of kLanes for each, with one of each of its rows' filters.
template <class H, int C, bool kOwn>
using Tap = std::conditional_t<kOwn, Samples<H, C>, H>;

/// Brings lanes' own filters to columns of shared memory, of each lane its rows' filters `number`, by all warps; whether what this
/// thread brought is finite. Some neighbouring lanes read one filter together, whose lines of memory come whole: (256, 90452) f32
/// with 9 taps 107 us, and 117 where each lane read its own, H100.
template <class H, int C>
__device__ __forceinline__ bool bring_columns(const Arguments& a, std::int64_t filter_bytes, const int (&number)[C],
                                              Samples<H, C>* taps, int warp, int warps) {
    constexpr int V = 16 / static_cast<int>(sizeof(H));
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    const int k = static_cast<int>(a.k);
    const int shift = k <= V ? 0 : k <= 2 * V ? 1 : 2;  // 1 << shift lanes read a filter, of as many groups of lanes
    const int together = 1 << shift;
    const int all = (k + together * V - 1) / V >> shift << shift;
    bool finite = true;
#pragma unroll 2
    for (int i = warp; i < all; i += warps) {
        const int group = i & (together - 1);
        const int of = (group * kLanes + lane) >> shift;  // the lane that it is for
        const int first = (i - group + (lane & (together - 1))) * V;
        H tap[C][V];
#pragma unroll
        for (int c = 0; c < C; ++c) {
            const std::int64_t filter = __shfl_sync(0xFFFFFFFFU, number[c], of);
            const auto* const from = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + filter * filter_bytes);
            if (first < k) { load_taps<V>(tap[c], from + first); }
        }
#pragma unroll
        for (int j = 0; j < V; ++j) {
            if (first + j < k) {
                Samples<H, C> cell;
#pragma unroll
                for (int c = 0; c < C; ++c) {
                    cell.each[c] = tap[c][j];
                    finite = finite && is_finite(tap[c][j]);
                }
                taps[(first + j) * kLanes + of] = cell;
            }
        }
    }
    return finite;
}

/// The same of the filters of line 0 to C - 1 of the lane's tile; whether terms may be absent, as bring_taps() returns.
template <class H, int C>
__device__ __forceinline__ bool bring_own_taps(const Arguments& a, const Rows& rows, const LineTile& tile,
                                               std::int64_t filter_bytes, Samples<H, C>* taps) {
    int number[C];
#pragma unroll
    for (int c = 0; c < C; ++c) { number[c] = static_cast<int>(filter_of(rows, tile, c)); }
    const bool finite = bring_columns(a, filter_bytes, number, taps, static_cast<int>(threadIdx.x) / kLanes, kWarps);
    const bool any_infinite = __syncthreads_or(!finite) != 0;
    return a.exact_edges != kMayMultiplyZeros && a.boundary == kZero && any_infinite;
}

/// sum[i] = the sum over t of taps[t] * window[i + t]: parts of the window follow each other in a ring of shared memory that begins
/// at `ring` and ends at `end`; `oldest` is the first of them. kOwn: `taps` is the lane's column.
template <class X, class H, int C, int O, bool kOwn>
__device__ __forceinline__ void convolve_column(X (&sum)[O][C], const Samples<X, C>* oldest, const Samples<X, C>* ring,
                                                const Samples<X, C>* end, const Tap<H, C, kOwn>* taps, int k) {
    constexpr int V = 16 / static_cast<int>(sizeof(H)) < O ? 16 / static_cast<int>(sizeof(H)) : O;
    constexpr int kPitch = kOwn ? kLanes : 1;
    Samples<X, C> x[O];
#pragma unroll
    for (int i = 0; i < O; ++i) { x[i] = oldest[i * kLanes]; }
    const Samples<X, C>* next = oldest;
    const auto add = [&]<bool kWhole>(std::bool_constant<kWhole> /*whole*/, const Tap<H, C, kOwn>* from, int left) {
        next += O * kLanes;
        next = next >= end ? next - (end - ring) : next;
#pragma unroll
        for (int v = 0; v < O; v += V) {
            if (!kWhole && v >= left) { return; }
            H tap[kOwn ? C : V];
            if constexpr (!kOwn) { load_taps<V>(tap, from + v); }
#pragma unroll
            for (int j = 0; j < V; ++j) {
                if (kWhole || v + j < left) {
                    if (v + j > 0) { x[v + j - 1] = next[(v + j - 1) * kLanes]; }
                    if constexpr (kOwn) {
#pragma unroll
                        for (int c = 0; c < C; ++c) { tap[c] = from[(v + j) * kLanes].each[c]; }
                    }
#pragma unroll
                    for (int i = 0; i < O; ++i) {
#pragma unroll
                        for (int c = 0; c < C; ++c) { multiply_add(sum[i][c], x[(v + j + i) % O].each[c], tap[kOwn ? c : j]); }
                    }
                }
            }
        }
        x[O - 1] = next[(O - 1) * kLanes];
    };
    int t = 0;
#pragma unroll 1
    for (; t + O <= k; t += O) { add(std::true_type{}, taps + t * kPitch, O); }
    if (t < k) { add(std::false_type{}, taps + t * kPitch, k - t); }
}

/// Outputs at one time, of any type, to element `at`.
template <class X, class Raw, int C>
__device__ __forceinline__ void put_outputs(const Arguments& a, const X (&sum)[C], std::int64_t at) {
    Raw raw[C];
    narrow_to_raw(a.output_type, sum, raw);
    Raw* const to = static_cast<Raw*>(a.out) + at;
    if constexpr (C == 1) {
        store_element(to, raw[0]);
    } else {
        using Whole = typename RawOf<C* static_cast<int>(sizeof(Raw)) <= 16 ? C* static_cast<int>(sizeof(Raw)) : 16>::Type;
#pragma unroll
        for (int v = 0; v < static_cast<int>(sizeof(raw) / sizeof(Whole)); ++v) {
            Whole whole;
            memcpy(&whole, raw + v * sizeof(Whole) / sizeof(Raw), sizeof whole);
            __stcs(reinterpret_cast<Whole*>(to) + v, whole);
        }
    }
}

/// A warp's sums as outputs along rows, through `stage`, O rows of kLanes elements: element i of lane l in column l ^ i, so that
/// lanes meet in no bank whether they go from row to row or along one. `out`: of the lane's row; `left`: outputs that it still has.
template <class X, int O>
__device__ __forceinline__ void put_turned(const Arguments& a, const X (&sum)[O][1], Samples<X, 1>* stage, int output_bytes,
                                           std::int64_t out, int left) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < O; ++i) { stage[i * kLanes + (lane ^ i)].each[0] = sum[i][0]; }
    __syncwarp();
    const int i = lane % O;
    with_output<X>(a.output_type, output_bytes, [&](auto element) {
#pragma unroll 1
        for (int q = 0; q < O; ++q) {
            const int other = q + lane / O * O;
            const std::int64_t to = __shfl_sync(0xffffffffu, out, other) + i * a.out_sample;
            const int left_there = __shfl_sync(0xffffffffu, left, other);
            if (i < left_there) { put_outputs<X, decltype(element)>(a, stage[i * kLanes + (other ^ i)].each, to); }
        }
    });
    __syncwarp();
}

/// Lanes' rows are neighbours in memory, so that what a warp reads of one time is one run. A lane's window lies in a ring of shared
/// memory, a column of its own, and moves on by what the warps make in a step: new samples come asynchronously while they compute.
/// O outputs at a time are sums in registers under the window that slides along. kWide: a lane has as many rows as a vector of 16
/// bytes has samples. kOwn: rows have filters of their own, and a lane their taps in a column of shared memory.
template <class X, class H, bool kWide, bool kOwn>
__global__ void __launch_bounds__(kThreads)
    direct_across_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Rows rows, const __grid_constant__ Across g) {
    constexpr int C = kRows<sizeof(X), kWide>;
    constexpr int O = kOutputs<sizeof(X), kWide>;
    constexpr int S = kWarps * O;  // of a step
    constexpr int kBytes = C * static_cast<int>(sizeof(X));
    constexpr int kPart = kIsComplexElement<X> && !kWide ? kBytes / 2 : kBytes;  // complex numbers lie on their parts
    using Cell = Samples<X, C>;
    extern __shared__ uint4 shared[];
    const int k = static_cast<int>(a.k);
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    const int warp = static_cast<int>(threadIdx.x) / kLanes;
    auto* const taps = reinterpret_cast<Tap<H, C, kOwn>*>(reinterpret_cast<char*>(shared) + g.taps_at);

    const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * kLanes + lane;
    const bool exists = number < rows.tiles;
    const LineTile tile = line_tile(a, rows, a.tiles, exists ? number : 0);
    bool may_be_absent = false;
    if constexpr (kOwn) {
        may_be_absent = bring_own_taps(a, rows, tile, g.filter_bytes, taps);
    } else {
        may_be_absent = bring_taps(a, taps, kThreads);
    }
    const std::int64_t o = tile.tile * (g.steps * S);
    const int count = exists ? static_cast<int>(min(a.count - o, static_cast<std::int64_t>(g.steps * S))) : 0;
    const int needed = count > 0 ? count + k - 1 : 0;  // samples
    const std::int64_t first = a.first - a.origin - a.in_first + o;
    const std::int64_t length = a.in_last - a.in_first;
    const X* const row = static_cast<const X*>(a.in) + tile.in;

    // From here on what the warp has of each part and of each step.
    Cell* const ring = reinterpret_cast<Cell*>(shared) + lane;
    Cell* const end = ring + g.parts * S * kLanes;
    int fetched = warp * O;  // the sample that comes next
    const X* from = row + (first + fetched) * a.in_sample;
    const auto fetch = [&](Cell* to) {
        if (fetched < needed) {
            if (first + fetched >= 0 && first + fetched + O <= length) {
                const X* each = from;
#pragma unroll
                for (int i = 0; i < O; ++i) {
#pragma unroll
                    for (int part = 0; part < kBytes; part += kPart) {
                        copy_element_async<kPart>(reinterpret_cast<char*>(to + i * kLanes) + part,
                                                  reinterpret_cast<const char*>(each) + part);
                    }
                    each += a.in_sample;
                }
            } else {
                fill_part<X, C, O, kPart>(a, to, row, first + fetched, length);
            }
        }
        fetched += S;
        from += S * a.in_sample;
        commit_copies();
    };
    const auto next_part = [&](Cell* part) {
        part += S * kLanes;
        return part >= end ? part - g.parts * S * kLanes : part;
    };
    Cell* used_up = ring + (g.parts - 1) * S * kLanes + warp * O * kLanes;  // stays empty until the first step is done
    for (Cell* part = ring + warp * O * kLanes; part != used_up; part += S * kLanes) { fetch(part); }

    Cell* oldest = ring + warp * O * kLanes;
    std::int64_t out = tile.out + (o + warp * O) * a.out_sample;
#pragma unroll 1
    for (int step = 0; step < g.steps; ++step) {
        wait_copies<0>();
        __syncthreads();
        fetch(used_up);
        used_up = oldest;
        const int left = count - step * S - warp * O;
        X sum[O][C] = {};
        const std::int64_t at = first + step * S + warp * O;
        if (may_be_absent && (at < 0 || at + O + k - 1 > length)) {
            if constexpr (!std::is_integral_v<X>) {  // which has no infinities
#pragma unroll
                for (int i = 0; i < O; ++i) {
#pragma unroll
                    for (int c = 0; c < C; ++c) {
                        const auto* const filter = static_cast<const char*>(a.taps) + filter_of(rows, tile, c) * g.filter_bytes;
                        if (i < left) {
                            sum[i][c] =
                                exact_sum(a, row + c, reinterpret_cast<const H*>(filter), a.in_first + a.origin + at + i, 0, a.k);
                        }
                    }
                }
            }
        } else if constexpr (kOwn) {
            convolve_column<X, H, C, O, true>(sum, oldest, ring, end, taps + lane, k);
        } else {
            convolve_column<X, H, C, O, false>(sum, oldest, ring, end, taps, k);
        }
        if (!a.plain_store) {
#pragma unroll
            for (int i = 0; i < O; ++i) {
#pragma unroll
                for (int c = 0; c < C; ++c) { sum[i][c] = finish(a, sum[i][c]); }
            }
        }
        if (kWide || g.stage_at == 0) {
            with_output<X>(a.output_type, rows.output_bytes, [&](auto element) {
                using Raw = decltype(element);
                std::int64_t to = out;
#pragma unroll
                for (int i = 0; i < O; ++i) {
                    if (i < left) { put_outputs<X, Raw>(a, sum[i], to); }
                    to += a.out_sample;
                }
            });
        } else if constexpr (!kWide) {
            Cell* const stage = reinterpret_cast<Cell*>(reinterpret_cast<char*>(shared) + g.stage_at) + warp * O * kLanes;
            put_turned(a, sum, stage, rows.output_bytes, out, left);
        }
        out += S * a.out_sample;
        oldest = next_part(oldest);
    }
}

}  // namespace tapline::cuda::across
