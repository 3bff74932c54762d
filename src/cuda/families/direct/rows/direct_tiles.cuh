// 31: any layout, any pair of types, any boundary, many short rows: tiles of lines that pass through shared memory once.
#pragma once

#include "cuda/families/direct/rows/direct_tiles.hpp"
#include "cuda/families/direct/rows/line_window.cuh"

namespace tapline::cuda::tiles {

/// As copy_16_async(), by way of the first-level cache.
__device__ __forceinline__ void copy_16_near_async(void* to_shared, const void* from_global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(to_shared));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from_global) : "memory");
#else
    *static_cast<uint4*>(to_shared) = *static_cast<const uint4*>(from_global);
#endif
}

/// Where sample i of line l lies in shared memory: l * line + i * sample elements from `first`.
struct Place {
    int first, line, sample;
    [[nodiscard]] __device__ __forceinline__ int of(int l, int i) const { return first + l * line + i * sample; }
};

/// Of a tile of so many lines and samples a line. `past`: elements at which line 0's run begins.
__device__ __forceinline__ Place place_of(Lie lie, int pitch, std::int64_t sample_step, std::int64_t row_step, int lines, int size,
                                          int past) {
    const auto step = static_cast<int>(sample_step);
    switch (lie) {
        case Lie::along:
            return {past + (step < 0 ? (1 - size) * step : 0), pitch, step};
        case Lie::across:
            return {row_step < 0 ? lines - 1 : 0, row_step < 0 ? -1 : 1, pitch};
        default:
            return {0, pitch, 1};
    }
}

/// The runs of samples or outputs [begin, end) of all lines: `memory` is line 0's element 0.
template <int kBytes>
__device__ __forceinline__ Runs runs_of(Lie lie, const Place& place, const char* memory, char* shared, std::int64_t sample_step,
                                        std::int64_t row_step, int lines, int begin, int end) {
    Runs r{};
    if (lie == Lie::along) {
        const int lowest = sample_step < 0 ? end - 1 : begin;
        const int step = static_cast<int>(sample_step < 0 ? -sample_step : sample_step);
        r.from = memory + lowest * sample_step * kBytes;
        r.to = shared + place.of(0, lowest) * kBytes;
        r.from_step = row_step * kBytes;
        r.to_step = place.line * kBytes;
        r.runs = lines;
        r.length = begin < end ? (end - begin - 1) * step + 1 : 0;
    } else {
        const int lowest = row_step < 0 ? lines - 1 : 0;
        r.from = memory + (begin * sample_step + lowest * row_step) * kBytes;
        r.to = shared + place.of(lowest, begin) * kBytes;
        r.from_step = sample_step * kBytes;
        r.to_step = place.sample * kBytes;
        r.runs = end - begin;
        r.length = lines;
    }
    return r;
}

/// As copy_in(). `near`: other lines read the same memory, which comes by way of the first-level cache.
template <int kBytes>
__device__ __forceinline__ void copy_samples(const Runs& r, const Team& team, bool near) {
    const auto copy_vector = [near](char* to, const char* from) { near ? copy_16_near_async(to, from) : copy_16_async(to, from); };
    const auto copy_one = [&](char* to, const char* from) {
        if constexpr (kBytes == 16) {
            copy_vector(to, from);
        } else {
            copy_element_async<kBytes>(to, from);
        }
    };
    copy_runs<kBytes>(r, team, copy_vector, copy_one, [&] {
        if constexpr (kBytes < 4) {
            copy_small_elements<kBytes>(r, team);
        } else {
            for_each_element<kBytes>(
                r, team, [&](int run, int at) { copy_one(r.to + run * r.to_step + at, r.from + run * r.from_step + at); });
        }
    });
}

/// Samples [0, size) of a tile's lines to shared memory as they lie; those of line 0 begin at `memory`. `first`: of sample 0, from
/// sample in_first. kPart: bytes of the parts of an element, whose addresses are multiples of them.
template <int kBytes, int kPart>
__device__ __forceinline__ void load_raw(const Arguments& a, const Rows& rows, const Tiles& g, const Place& place,
                                         const char* memory, char* shared, std::int64_t first, int lines, int size,
                                         const Team& team) {
    const std::int64_t length = a.in_last - a.in_first;
    const int begin = static_cast<int>(min(max(-first, std::int64_t{0}), std::int64_t{size}));
    const int end = static_cast<int>(min(max(length - first, std::int64_t{begin}), std::int64_t{size}));
    if (g.in == Lie::apart) {
        for (int l = 0; l < lines; ++l) {
            for (int i = begin + team.thread; i < end; i += team.threads) {
                const char* const from = memory + (l * rows.near.in + i * a.in_sample) * kBytes;
                char* const to = shared + place.of(l, i) * kBytes;
#pragma unroll
                for (int part = 0; part < kBytes; part += kPart) { copy_element_async<kPart>(to + part, from + part); }
            }
        }
    } else {
        const Runs runs = runs_of<kBytes>(g.in, place, memory, shared, a.in_sample, rows.near.in, lines, begin, end);
        // Lines of one and the same row come by way of the first-level cache: the second level has those few lines of memory in
        // one place, for which all multiprocessors would wait.
        copy_samples<kBytes>(runs, team, rows.near.in == 0);
    }
    if (begin == 0 && end == size) { return; }
    fill_outside<kBytes, kPart, false>(a, rows, memory - first * a.in_sample * kBytes, first, begin, end, size,
                                       {lines, rows.near.in * kBytes, g.in == Lie::across}, team,
                                       [&](int l, int i) { return shared + place.of(l, i) * kBytes; });
}

/// A lane's sums as outputs in shared memory or, where those lie apart, in memory.
template <class X, class Raw, int O>
__device__ __forceinline__ void put_outputs(const Arguments& a, const X (&sum)[O], Raw* to, std::int64_t step, int count) {
    Raw raw[O];
    narrow_to_raw(a.output_type, sum, raw);
#pragma unroll
    for (int i = 0; i < O; ++i) {
        if (i < count) { store_element(to + i * step, raw[i]); }
    }
}

/// Brings the filters of a warp's lines, of a few taps each, to shared memory, and returns whether all are finite. Taps of all
/// lines are under way together: line after line a warp waited for each, 1,118,505 filters of 5 taps 723 us and not 194 (H100).
template <class H>
__device__ __noinline__ bool bring_few_taps(const Arguments& a, const Rows& rows, const Tiles& g, H* taps, std::int64_t filter,
                                            int lines, const Team& team) {
    constexpr int kAtOnce = 4;
    bool finite = true;
    PairWalk at(team, static_cast<int>(a.k));
#pragma unroll 1
    while (at.is_there(lines)) {
        H held[kAtOnce];
        H* to[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            const std::int64_t own = filter + at.outer < rows.filters ? filter + at.outer : (filter + at.outer) % rows.filters;
            to[i] = at.is_there(lines) ? taps + at.outer * g.tap_pitch + at.inner : nullptr;
            held[i] = H{};
            if (to[i] != nullptr) {
                held[i] = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + own * g.filter_bytes)[at.inner];
            }
            at.advance();
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            finite = finite && is_finite(held[i]);
            if (to[i] != nullptr) { *to[i] = held[i]; }
        }
    }
    return finite;
}

/// A warp brings its tile's samples to shared memory as they lie in memory, in whichever direction neighbours lie, and widens them
/// there; a lane makes O neighbouring outputs of a line; they go back the same way.
template <class X, class H>
__global__ void __launch_bounds__(32 * kWarps, 5)
    direct_tiles_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Rows rows, const __grid_constant__ Tiles g) {
    constexpr int O = kOutputs<static_cast<int>(sizeof(X))>;
    extern __shared__ uint4 shared[];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const Team team{lane, 32};
    const int k = static_cast<int>(a.k);
    char* const memory = reinterpret_cast<char*>(shared) + warp * g.warp_bytes;
    const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp;
    const bool exists = number < rows.tiles;
    const LineTile tile = line_tile(a, rows, a.tiles, exists ? number : 0);

    // Taps: one filter for the block, or one for each of a warp's lines.
    const bool own_taps = g.warp_taps != 0;
    H* const taps = reinterpret_cast<H*>(reinterpret_cast<char*>(shared) + g.taps_at) + warp * g.warp_taps;
    const int tap_lines = min(g.tap_lines, tile.lines);
    const int tap_thread = own_taps ? lane : static_cast<int>(threadIdx.x);
    const int tap_threads = own_taps ? 32 : 32 * kWarps;
    constexpr int kFewTaps = 40;
    const bool few_taps = tap_lines > 1 && k <= kFewTaps;
    bool finite = !few_taps || bring_few_taps(a, rows, g, taps, filter_of(rows, tile, 0), tap_lines, team);
    for (int line = 0; line < (few_taps ? 0 : tap_lines); ++line) {
        constexpr int kAtOnce = 4;  // loads of a thread that are under way together
        const auto* const filter =
            reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + filter_of(rows, tile, line) * g.filter_bytes);
#pragma unroll 1
        for (int t = tap_thread; t < k; t += kAtOnce * tap_threads) {
            H held[kAtOnce];
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i) { held[i] = t + i * tap_threads < k ? filter[t + i * tap_threads] : H{}; }
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i) {
                finite = finite && is_finite(held[i]);
                if (t + i * tap_threads < k) { taps[line * g.tap_pitch + t + i * tap_threads] = held[i]; }
            }
        }
    }
    const std::int64_t o = tile.tile * g.outputs;
    const std::int64_t first = a.first - a.origin - a.in_first + o;
    const int end = static_cast<int>(min(a.count - o, std::int64_t{g.outputs}));
    const int size = end + k - 1;
    Place in{};
    X* samples = reinterpret_cast<X*>(memory + g.sums_at);
    if (exists) {
        const char* const from = static_cast<const char*>(a.in) + (tile.in + first * a.in_sample) * rows.input_bytes;
        const auto load = [&](auto bytes) {
            constexpr int kBytes = decltype(bytes)::value;
            const std::int64_t lowest = a.in_sample < 0 ? (size - 1) * a.in_sample : 0;
            in = place_of(g.in, g.in_pitch, a.in_sample, rows.near.in, tile.lines, size,
                          g.in_front + past_16(from + lowest * kBytes) / kBytes);
            constexpr int kPart = kIsComplexElement<X> ? kBytes / 2 : kBytes;
            const int lines = g.in_pitch == 0 ? 1 : tile.lines;  // under many filters all are one
            load_raw<kBytes, kPart>(a, rows, g, in, from, memory, first, lines, size, team);
            commit_copies();
            wait_copies<0>();
            __syncwarp();
            if constexpr (!kIsComplexElement<X> && kBytes <= 8) {
                if (g.sums_at != 0) {
                    widen_all<X, kBytes>(samples, memory, rows.input_type, g.in_elements, team);
                    __syncwarp();
                }
            }
        };
        if constexpr (kIsComplexElement<X>) {
            load(std::integral_constant<int, sizeof(X)>{});
        } else {
            with_raw(rows.input_bytes, [&](auto raw) { load(std::integral_constant<int, sizeof(raw)>{}); });
        }
    }
    const bool at_edge = a.boundary == kZero && (first < 0 || first + size > a.in_last - a.in_first);
    const bool absent = a.exact_edges != kMayMultiplyZeros && __syncthreads_or(!finite) != 0 && at_edge;
    __syncthreads();  // taps are there
    if (!exists) { return; }

    // Lanes that follow each other go along a line, or from line to line where these lie closer.
    const bool across = g.in == Lie::across;
    const int line = across ? lane % rows.lines : lane / g.pieces;
    const int piece = across ? lane / rows.lines : lane - line * g.pieces;
    const int begin = piece * O;
    const bool works = line < tile.lines && begin < end && piece < g.pieces;
    X sum[O] = {};
    if (works) {
        const X* const window = samples + in.of(line, begin);
        const H* const own = taps + (g.tap_lines > 1 ? line * g.tap_pitch : 0);
        if (absent) {
#pragma unroll
            for (int i = 0; i < O; ++i) {
                sum[i] = sum_of_terms_there(a, window + i * in.sample, in.sample, own, first + begin + i);
            }
        } else {
            convolve_line(sum, window, in.sample, own, k);
        }
        if (!a.plain_store) {
#pragma unroll
            for (int i = 0; i < O; ++i) { sum[i] = finish(a, sum[i]); }
        }
    }
    __syncwarp();  // the samples are used up
    const auto store = [&](auto element) {
        using Raw = decltype(element);
        constexpr int kBytes = sizeof(Raw);
        Raw* const to = static_cast<Raw*>(a.out) + tile.out + o * a.out_sample;
        if (g.out == Lie::apart) {
            if (works) { put_outputs(a, sum, to + line * rows.near.out + begin * a.out_sample, a.out_sample, end - begin); }
            return;
        }
        const auto* const bytes = reinterpret_cast<const char*>(to);
        const std::int64_t lowest = a.out_sample < 0 ? (end - 1) * a.out_sample : 0;
        const int past = past_16(bytes + lowest * kBytes) / kBytes;
        const Place out = place_of(g.out, g.out_pitch, a.out_sample, rows.near.out, tile.lines, end, past);
        Raw* const stage = reinterpret_cast<Raw*>(memory);
        if (works) { put_outputs(a, sum, stage + out.of(line, begin), out.sample, end - begin); }
        __syncwarp();
        Runs r = runs_of<kBytes>(g.out, out, bytes, memory, a.out_sample, rows.near.out, tile.lines, 0, end);
        const char* const target = r.from;
        r.from = r.to;
        r.to = const_cast<char*>(target);
        const std::int64_t target_step = r.from_step;
        r.from_step = r.to_step;
        r.to_step = target_step;
        copy_out<kBytes>(r, team);
    };
    with_output<X>(a.output_type, rows.output_bytes, store);
}

}  // namespace tapline::cuda::tiles
