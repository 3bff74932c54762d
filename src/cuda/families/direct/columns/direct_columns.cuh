// 51: rows side by side in memory, short ones or with filters of their own: a thread makes a few outputs of neighbouring rows.
#pragma once

#include "cuda/families/direct/columns/direct_columns.hpp"
#include "cuda/families/direct/rows/direct_across.cuh"

namespace tapline::cuda::columns {

using across::Samples;
using across::Tap;

/// A thread's rows, and where its outputs and window lie along them.
struct Place {
    std::int64_t in, out;       // elements to its first row
    std::int64_t near, filter;  // that row along Rows::near; filters before those of its place along the other axes
    std::int64_t first;         // sample 0 of the window, from sample in_first
    int needed;                 // samples
    int rows;                   // of the thread's that exist
    const std::int64_t* there;  // where those of a window that leaves the signal are; -1: nowhere
};

/// Samples of one time of a thread's C rows; those of `exist` of them where they do not lie in a vector.
template <class Raw, int C, int kStep>
__device__ __forceinline__ Samples<Raw, C> load_cell(const Raw* at, int exist) {
    using Cell = Samples<Raw, C>;
    Cell cell{};
    if constexpr (C == 1 || kStep > 1) {
#pragma unroll
        for (int c = 0; c < C; ++c) {
            if (C == 1 || c < exist) { cell.each[c] = load_element(at + c * kStep); }  // complex numbers lie on their parts
        }
    } else {
        cell = *reinterpret_cast<const Cell*>(at);
    }
    return cell;
}

/// kCount samples of C rows, kStep elements apart, from sample `from` of the window on, those before `end` of it. kInside: all of
/// these lie in the piece, and `row` is sample in_first; else, of several rows, the lowest one in memory. The loads are under way
/// together.
template <class X, class Raw, int C, int kStep, int kCount, bool kInside>
__device__ __forceinline__ void read_samples(const Arguments& a, const Rows& rows, const Place& p, const Raw* row, int from,
                                             int end, X (&to)[kCount * C]) {
    // Places that are looked up before the first of their loads. Where each lane has one row, which may lie far from the next
    // one's, samples that all come at once come later: (4062728, 7, 3) complex64 with 3 taps 854 us instead of 680, H100.
    constexpr int kAtOnce = C == 1 ? 1 : 4;
    Raw raw[kCount * C];
    std::int64_t place[kAtOnce];
    const Raw* each = row + (p.first + from) * a.in_sample;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        Samples<Raw, C> cell{};
        if constexpr (kInside) {
            if (from + i < end) { cell = load_cell<Raw, C, kStep>(each, p.rows); }
            each += a.in_sample;
        } else if constexpr (C == 1) {
            if (from + i < end) {
                const std::int64_t at = p.there[from + i];
                if (at >= 0) {
                    cell = load_cell<Raw, C, kStep>(row + at * a.in_sample, p.rows);
                } else if (a.boundary == kConstant) {
                    memcpy(&cell.each[0], rows.constant, sizeof(Raw));
                }
            }
        } else {
            if (i % kAtOnce == 0) {
#pragma unroll
                for (int j = 0; j < kAtOnce; ++j) { place[j] = from + i + j < end ? p.there[from + i + j] : -1; }
            }
            const std::int64_t at = place[i % kAtOnce];
            if (at >= 0) {
                cell = load_cell<Raw, C, kStep>(reinterpret_cast<const Raw*>(reinterpret_cast<const char*>(row) + at), p.rows);
            } else if (a.boundary == kConstant) {
#pragma unroll
                for (int c = 0; c < C; ++c) { memcpy(&cell.each[c], rows.constant, sizeof(Raw)); }
            }
        }
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
template <class X, class H, class Raw, int C, int kStep, bool kOwn, bool kInside>
__device__ __forceinline__ void convolve_window(const Arguments& a, const Rows& rows, const Place& w, const Raw* row,
                                                const Tap<H, C, kOwn>* taps, int pitch, X (&sum)[kOutputs * C]) {
    constexpr int O = kOutputs;
    constexpr int V = 16 / static_cast<int>(sizeof(H)) < O ? 16 / static_cast<int>(sizeof(H)) : O;
    const int k = static_cast<int>(a.k);
    X x[O * C];
    X next[O * C];
    read_samples<X, Raw, C, kStep, O, kInside>(a, rows, w, row, 0, w.needed, x);
#pragma unroll 1
    for (int t = 0; t < k; t += O) {
        const int left = k - t;
        const int end = t + O + min(left - 1, O);  // behind the last tap of all no sample is needed
        read_samples<X, Raw, C, kStep, O, kInside>(a, rows, w, row, t + O, min(end, w.needed), next);
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
__device__ __noinline__ X sum_of_samples_there(const Arguments& a, const Rows& rows, const Place& w, const Raw* row, const H* taps,
                                               int i) {
    X sum{};
    for (std::int64_t t = 0; t < a.k; ++t) {
        const std::int64_t place = w.first + i + t;
        if (place < 0 || place >= a.in_last - a.in_first) { continue; }
        const Raw raw[1] = {load_element(row + place * a.in_sample)};
        X x[1];
        widen_raw(rows.input_type, raw, x);
        multiply_add(sum, x[0], taps[t]);
    }
    return sum;
}

/// The filter of a row of a thread, which lies `beyond` rows beyond its first one.
__device__ __forceinline__ std::int64_t filter_of(const Columns& g, const Place& p, int beyond) {
    if (g.near.turn == 1) { return p.filter; }
    const std::int64_t number = g.near.first + p.near + beyond;
    return p.filter + (number - divide(number, g.near.turn) * g.near.turn) * g.near.step;
}

/// Filters of C rows to a column of shared memory, a vector of taps at a time; whether all taps are finite.
template <class H, int C, int kStep>
__device__ __forceinline__ bool bring_column(const Arguments& a, const Columns& g, const Place& p, Samples<H, C>* taps, int pitch,
                                             int part, int parts) {
    constexpr int V = 16 / static_cast<int>(sizeof(H));
    const int k = static_cast<int>(a.k);
    bool finite = true;
#pragma unroll
    for (int c = 0; c < C; ++c) {
        const auto* const own =
            reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + filter_of(g, p, c * kStep) * g.filter_bytes);
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
    return finite;
}

/// Which rows are unit `unit` of them, of `size` neighbours each; a thread's first one is row `lane` of it.
__device__ __forceinline__ Place place_of(const Rows& rows, const Columns& g, std::int64_t unit, int size, int lane) {
    Place p{};
    p.filter = g.first_filter;
    std::int64_t rest = divide(unit, g.near_units);
    p.near = (unit - rest * g.near_units) * size + lane;
    p.in = p.near * rows.near.in;
    p.out = p.near * rows.near.out;
#pragma unroll
    for (int i = 0; i < Rows::kMostOthers; ++i) {
        if (rows.others[i].length == 1) { continue; }
        const std::int64_t before = rest;
        rest = divide(rest, rows.others[i].length);
        const std::int64_t at = before - rest * rows.others[i].length;
        p.in += at * rows.others[i].in;
        p.out += at * rows.others[i].out;
        if (g.others[i].turn > 1) { p.filter += (g.others[i].first + at) % g.others[i].turn * g.others[i].step; }
    }
    return p;
}

/// Where `size` samples from sample `first` on are, by the block's threads: so many samples from in_first, or kInBytes: bytes from
/// the lowest one in memory.
template <bool kInBytes>
__device__ __forceinline__ void find_places(const Arguments& a, const Rows& rows, std::int64_t* there, std::int64_t first, int size,
                                            int threads) {
    constexpr int kTimes = kInBytes ? 1 : 4;
    const std::int64_t length = a.in_last - a.in_first;
    const std::int64_t step = kInBytes ? a.in_sample * rows.input_bytes : 1;
#pragma unroll kTimes
    for (int i = static_cast<int>(threadIdx.x); i < size; i += threads) {
        std::int64_t place = first + i;
        if (a.boundary > kConstant && (place < 0 || place >= length)) {
            place = near_boundary_index(a.boundary, a.in_first + place, a.n) - a.in_first;
        }
        const bool exists = place >= 0 && place < length;  // what is not in the piece nobody asked for
        there[i] = exists ? (step < 0 ? place - (length - 1) : place) * step : -1;
    }
}

/// What a block makes: outputs [first, first + outputs) of its rows, and a thread's place, whose rows are those that exist.
struct Share {
    std::int64_t first;
    int outputs;
    Place place;
};
template <int C, int kStep>
__device__ __forceinline__ Share share_of(const Arguments& a, const Rows& rows, const Columns& g) {
    constexpr bool kApart = kStep > 1;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t group = divide(static_cast<std::int64_t>(blockIdx.x), a.tiles);
    const std::int64_t unit = kApart ? group : group * 32 + lane;
    const bool known = unit < g.units;
    Share s{};
    s.outputs = static_cast<int>(blockDim.x) / 32 * kOutputs;
    s.first = (static_cast<std::int64_t>(blockIdx.x) - group * a.tiles) * s.outputs;
    s.place = place_of(rows, g, known ? unit : 0, C * kStep, kApart ? lane : 0);
    s.place.rows = kApart ? static_cast<int>(min((rows.near.length - s.place.near + kStep - 1) / kStep, std::int64_t{C})) : C;
    if (!known) { s.place.rows = 0; }
    return s;
}

static_assert(kMostWarps * kOutputs <= 64, "two lanes' outputs of a row");

/// A block's sums in shared memory as outputs that lie along rows: lanes of a warp store neighbouring ones. A function of its own,
/// so that what it needs takes no registers before.
template <class X, int C, int kStep>
__device__ __noinline__ void store_along(const Arguments& a, const Rows& rows, const Columns& g, const X* stage) {
    const Share share = share_of<C, kStep>(a, rows, g);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warps = static_cast<int>(blockDim.x) / 32;
    const int outputs = static_cast<int>(min(a.count - share.first, std::int64_t{share.outputs}));
    const int of_row = outputs <= 8 ? 8 : outputs <= 16 ? 16 : 32;  // lanes
    const int at_once = 32 / of_row;                                // rows
    // What stores could change, for all the compiler knows, is read once.
    const Dtype type = a.output_type;
    const int pitch = g.stage_pitch;
    const std::int64_t sample = a.out_sample;
    const std::int64_t to_step = kStep * rows.near.out;
    const int i = lane % of_row;
    with_output<X>(type, rows.output_bytes, [&](auto element) {
        using Raw = decltype(element);
        Raw* const out = static_cast<Raw*>(a.out) + (share.first + i) * sample;
        const auto store = [&](Raw* to, const X* from) {
            const X one[1] = {*from};
            Raw raw[1];
            narrow_to_raw(type, one, raw);
            store_element(to, raw[0]);
        };
#pragma unroll 2
        for (int r = static_cast<int>(threadIdx.x) / 32 * at_once; r < 32 * C; r += warps * at_once) {
            const int row = r + lane / of_row;
            Raw* const to = out + __shfl_sync(0xffffffffu, share.place.out, row % 32) + row / 32 * to_step;
            const bool is_there = row / 32 < __shfl_sync(0xffffffffu, share.place.rows, row % 32);
            const X* const from = stage + row * pitch + i;
            if (is_there && i < outputs) { store(to, from); }
            if (is_there && i + 32 < outputs) { store(to + 32 * sample, from + 32); }
        }
    });
}

/// A thread makes kOutputs outputs of C neighbouring rows from a window that it reads itself: what its neighbours read too comes
/// from the first-level cache. Nothing passes through shared memory but taps, so that a row of a few samples costs no more than
/// they do. A block's outputs are the same ones of all its rows: where its window leaves the signal, it is found out once where
/// samples are. kStep: from one of a thread's rows to the next; 1: a vector holds them, kRowLanes: lanes of a warp have
/// neighbouring rows, wherever these lie between boundaries of a vector.
template <class X, class H, class Raw, int C, int kStep, bool kOwn>
__global__ void __launch_bounds__(32 * kMostWarps, C * sizeof(X) <= 8 ? 3 : 2)
    direct_columns_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Rows rows,
                          const __grid_constant__ Columns g) {
    constexpr int O = kOutputs;
    extern __shared__ uint4 shared[];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int threads = static_cast<int>(blockDim.x);
    constexpr int kPitch = 32;
    auto* const taps = reinterpret_cast<Tap<H, C, kOwn>*>(shared);
    auto* const there = reinterpret_cast<std::int64_t*>(reinterpret_cast<char*>(shared) + g.places_at);

    constexpr bool kApart = kStep > 1;
    const Share share = share_of<C, kStep>(a, rows, g);
    const std::int64_t o_first = share.first;
    Place p = share.place;
    const std::int64_t first = a.first - a.origin - a.in_first + o_first;
    const int size = static_cast<int>(min(a.count - o_first, std::int64_t{share.outputs})) + static_cast<int>(a.k) - 1;
    const std::int64_t length = a.in_last - a.in_first;
    if (first < 0 || first + size > length) { find_places<(C > 1)>(a, rows, there, first, size, threads); }
    bool may_be_absent = false;
    const Tap<H, C, kOwn>* mine = taps;
    if constexpr (kOwn) {
        auto* const column = taps + lane;
        const bool finite = bring_column<H, C, kStep>(a, g, p, column, kPitch, warp, threads / 32);
        may_be_absent = __syncthreads_or(!finite) != 0 && a.exact_edges != kMayMultiplyZeros && a.boundary == kZero;
        mine = column;
    } else {
        may_be_absent = bring_taps(a, taps, threads);
    }
    const int in_block = warp * O;
    const std::int64_t o = o_first + in_block;
    const int count = p.rows > 0 ? static_cast<int>(min(max(a.count - o, std::int64_t{0}), std::int64_t{O})) : 0;
    const bool turned = (C == 1 || kApart) && g.stage_pitch != 0;
    if (count == 0 && !turned) { return; }
    p.first = first + in_block;
    p.needed = count + static_cast<int>(a.k) - 1;
    p.there = there + in_block;
    const Raw* const row = static_cast<const Raw*>(a.in) + p.in;
    X sum[O * C] = {};
    if (count == 0) {
        // Others' outputs wait for its part in storing them.
    } else if (p.first >= 0 && p.first + p.needed <= length) {
        convolve_window<X, H, Raw, C, kStep, kOwn, true>(a, rows, p, row, mine, kPitch, sum);
    } else if (!may_be_absent) {
        const Raw* const lowest = row + (C > 1 && a.in_sample < 0 ? (length - 1) * a.in_sample : 0);
        convolve_window<X, H, Raw, C, kStep, kOwn, false>(a, rows, p, lowest, mine, kPitch, sum);
    } else {
#pragma unroll
        for (int i = 0; i < O; ++i) {
#pragma unroll
            for (int c = 0; c < C; ++c) {
                const auto* const filter = static_cast<const char*>(a.taps) + filter_of(g, p, c * kStep) * g.filter_bytes;
                if (i < count && c < p.rows) {
                    sum[i * C + c] = sum_of_samples_there<X>(a, rows, p, row + c * kStep, reinterpret_cast<const H*>(filter), i);
                }
            }
        }
    }
    if (!a.plain_store) {
#pragma unroll
        for (int i = 0; i < O * C; ++i) { sum[i] = finish(a, sum[i]); }
    }
    if (turned) {
        auto* const stage = reinterpret_cast<X*>(reinterpret_cast<char*>(shared) + g.stage_at);
#pragma unroll
        for (int i = 0; i < O; ++i) {
#pragma unroll
            for (int c = 0; c < C; ++c) { stage[(c * 32 + lane) * g.stage_pitch + in_block + i] = sum[i * C + c]; }
        }
        __syncthreads();
        store_along<X, C, kStep>(a, rows, g, stage);
        return;
    }
    with_output<X>(a.output_type, rows.output_bytes, [&](auto element) {
        std::int64_t to = p.out + o * a.out_sample;
#pragma unroll
        for (int i = 0; i < O; ++i) {
            X one[C];
#pragma unroll
            for (int c = 0; c < C; ++c) { one[c] = sum[i * C + c]; }
            if constexpr (kApart) {
#pragma unroll
                for (int c = 0; c < C; ++c) {
                    const X of_row[1] = {one[c]};
                    if (i < count && c < p.rows) { across::put_outputs<X, decltype(element)>(a, of_row, to + c * kStep); }
                }
            } else if (i < count) {
                across::put_outputs<X, decltype(element)>(a, one, to);
            }
            to += a.out_sample;
        }
    });
}

}  // namespace tapline::cuda::columns
