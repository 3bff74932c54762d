// The inner loop of every register-tiled kernel: a thread makes O = kVectors * V consecutive outputs from a window that slides
// over the signal one 16-byte vector (V samples) at a time, kept in a ring of O + V registers.
//
//   outputs    o .. o+O-1            sum[i] += tap[t] * window[i + t]
//   ring       O + V samples: V taps need window[t .. t+O+V-2]; then the oldest vector is replaced by the next
//
// Each vector loaded feeds V * O products. Indices into the ring are compile-time constants: after kVectors + 1 vectors it has
// turned once, so loops over taps are unrolled by that many vectors.
#pragma once

#include <type_traits>
#include <utility>

#include "cuda/primitives/elements.cuh"

namespace tapline::cuda {

/// The products of the first `count` taps of a vector; kWhole: of all V. The ring has turned by kTurn vectors.
template <class S, int kVectors, int kTurn, bool kWhole, class H>
__device__ __forceinline__ void add_taps(typename Element<S>::Sum* sum, const typename Element<S>::Sum* ring, const H* taps,
                                         int count) {
    constexpr int V = kPerVector<S>;
    constexpr int kRing = (kVectors + 1) * V;
#pragma unroll
    for (int j = 0; j < V; ++j) {
        if (kWhole || j < count) {
#pragma unroll
            for (int i = 0; i < kVectors * V; ++i) { multiply_add(sum[i], ring[(kTurn * V + i + j) % kRing], taps[j]); }
        }
    }
}

/// body(turn) for the turns [kBegin, kEnd), numbers that the compiler knows. All from one function: where each called the next,
/// turn's code was copied once for every turn before it.
template <int kBegin, class Body, int... kTurns>
__device__ __forceinline__ void for_turns_of([[maybe_unused]] const Body& body, std::integer_sequence<int, kTurns...> /*turns*/) {
    (static_cast<void>(body(std::integral_constant<int, kBegin + kTurns>{})), ...);
}
template <int kBegin, int kEnd, class Body>
__device__ __forceinline__ void for_turns(const Body& body) {
    for_turns_of<kBegin>(body, std::make_integer_sequence<int, (kEnd > kBegin ? kEnd - kBegin : 0)>{});
}

/// Taps [0, count), (kChunks - kLoose) * V < count <= kChunks * V, unrolled: `taps` is indexed with constants, so that taps in a
/// kernel's parameters are operands of the products themselves. vector(v): the window's v-th.
template <class S, int kVectors, int kChunks, int kLoose, class H, class Vector>
__device__ __forceinline__ void convolve_unrolled(typename Element<S>::Sum* sum, const Vector& vector, const H* taps, int count) {
    constexpr int V = kPerVector<S>;
    typename Element<S>::Sum ring[(kVectors + 1) * V];
    for_turns<0, kVectors>([&](auto v) { unpack<S>(ring + decltype(v)::value * V, vector(decltype(v)::value)); });
    for_turns<0, kChunks>([&](auto chunk) {
        constexpr int c = decltype(chunk)::value;
        unpack<S>(ring + (c + kVectors) % (kVectors + 1) * V, vector(kVectors + c));
        add_taps < S, kVectors, c % (kVectors + 1), c + kLoose<kChunks>(sum, ring, taps + c * V, count - c * V);
    });
}

/// Taps [0, count), any number; tap_vector(t, to) fetches the V taps from t on (t is a multiple of V).
template <class S, int kVectors, class H, class TapVector>
__device__ __forceinline__ void convolve_looped(typename Element<S>::Sum* sum, const uint4* window, int count,
                                                const TapVector& tap_vector) {
    constexpr int V = kPerVector<S>;
    constexpr int kTurns = kVectors + 1;
    typename Element<S>::Sum ring[kTurns * V];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) { unpack<S>(ring + v * V, window[v]); }
    window += kVectors;
    int t = 0;
#pragma unroll 1
    for (; t + kTurns * V <= count; t += kTurns * V) {
        for_turns<0, kTurns>([&](auto turn) {
            constexpr int c = decltype(turn)::value;
            H taps[V];
            tap_vector(t + c * V, taps);
            unpack<S>(ring + (c + kVectors) % kTurns * V, window[c]);
            add_taps<S, kVectors, c, true>(sum, ring, taps, V);
        });
        window += kTurns;
    }
    for_turns<0, kTurns>([&](auto turn) {
        constexpr int c = decltype(turn)::value;
        const int left = count - t - c * V;
        if (left > 0) {
            H taps[V];
            tap_vector(t + c * V, taps);
            unpack<S>(ring + (c + kVectors) % kTurns * V, window[c]);
            add_taps<S, kVectors, c, false>(sum, ring, taps, left);
        }
    });
}

}  // namespace tapline::cuda
