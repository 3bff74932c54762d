// A tile that is not like the others: at an edge, strided, of another output type, not aligned.
#pragma once

#include "cuda/primitives/exact_tile.cuh"
#include "cuda/primitives/sliding_window.cuh"
#include "cuda/primitives/store_tile.cuh"

namespace tapline::cuda {

/// The outputs of lane `lane` of a tile whose first output is o (relative to the job's), one by one.
template <class S, int kVectors>
__device__ __forceinline__ void store_anywhere(const Arguments& a, std::int64_t row, std::int64_t o,
                                               const typename Element<S>::Sum* sum, int lane) {
    constexpr int O = kVectors * kPerVector<S>;
    const std::int64_t base = row * a.out_row;
    for_turns<0, O>([&](auto i) {
        constexpr int n = decltype(i)::value;
        const std::int64_t at = o + lane * O + n;
        if (at >= 0 && at < a.count) {
            const auto value = finish(a, sum[n]);
            if (a.converts) {
                store_converted(a, a.out, base + at * a.out_sample, value);
            } else {
                store_element(static_cast<S*>(a.out) + base + at * a.out_sample, Element<S>::narrow(value));
            }
        }
    });
}

/// The tile of 32 * kVectors * V outputs from o on (relative to the job's first output), by one warp, with taps [tap_first,
/// tap_first + taps). `stage`: tile + slots samples of this warp's own, slots a multiple of V. partial: where bare sums of the
/// row go instead, or null.
template <class S, class H, int kVectors>
__device__ __forceinline__ void slow_tile(const Arguments& a, typename Element<S>::Sum* partial, std::int64_t row, std::int64_t o,
                                          std::int64_t tap_first, std::int64_t taps, int slots, S* stage, int lane) {
    constexpr int V = kPerVector<S>;
    constexpr int O = kVectors * V;
    constexpr int kTile = 32 * O;
    typename Element<S>::Sum sum[O] = {};
    const S* in = static_cast<const S*>(a.in) + row * a.in_row;
    const H* row_taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes) + tap_first;
    const std::int64_t start = a.first - a.origin - a.in_first + tap_first + o;
    for (std::int64_t done = 0; done < taps; done += slots) {
        const int chunk = static_cast<int>(min(taps - done, static_cast<std::int64_t>(slots)));
        fill_at_edge(a, stage, in, start + done, kTile + (chunk + V - 1) / V * V, lane);
        __syncwarp();
        convolve_looped<S, kVectors, H>(sum, reinterpret_cast<const uint4*>(stage) + lane * kVectors, chunk, [&](int t, H(&to)[V]) {
#pragma unroll
            for (int j = 0; j < V; ++j) { to[j] = t + j < chunk ? row_taps[done + t + j] : H{}; }
        });
        __syncwarp();
    }
    if (a.exact_edges == kExact || (a.exact_edges == kExactUnlessFinite && !taps_are_finite(row_taps, taps, lane))) {
        for_turns<0, O>([&](auto i) {
            constexpr int n = decltype(i)::value;
            sum[n] = exact_sum<S, H>(a, in, row_taps - tap_first, a.first + o + lane * O + n, tap_first, tap_first + taps);
        });
    }
    if (partial == nullptr) {
        store_anywhere<S, kVectors>(a, row, o, sum, lane);
        return;
    }
    for_turns<0, O>([&](auto i) {
        constexpr int n = decltype(i)::value;
        const std::int64_t at = o + lane * O + n;
        if (at >= 0 && at < a.count) { partial[at] = sum[n]; }
    });
}

}  // namespace tapline::cuda
