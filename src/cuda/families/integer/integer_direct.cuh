// Signals of integers by multiply-adds: a warp's samples pass through shared memory once for a number of taps.
#pragma once

#include "cuda/families/integer/integer_signal.cuh"

namespace tapline::cuda::integer {

/// How samples and sums are held: a lane makes kOutputs neighbouring outputs.
template <Sums kSums>
struct Direct {
    using X = std::conditional_t<kSums == Sums::low64, std::uint64_t, std::uint32_t>;
    using Sum = std::conditional_t<kSums == Sums::low32, std::uint32_t, std::uint64_t>;
    static constexpr int kOutputs = kSums == Sums::low32 ? 16 : 8;
    static constexpr int kTile = 32 * kOutputs;
    static constexpr int kTaps = 8;  // at a time
    /// One place more after each lane's: their neighbours meet in no bank.
    static __device__ __forceinline__ int place(int i) { return i + i / kOutputs; }
    static constexpr int kWindow = (kTile + kDirectChunk) / kOutputs * (kOutputs + 1);
    static constexpr int kOfWarp = kDirectChunk + kWindow;  // in shared memory: taps, then samples
    static_assert(kOfWarp % 4 == 0);

    static __device__ __forceinline__ void add(Sum& sum, X x, X h) {
        if constexpr (kSums == Sums::wide32) {
            sum +=
                static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(x)) * static_cast<std::int32_t>(h));
        } else {
            sum += x * h;
        }
    }
};

/// Tiles of 32 * kOutputs outputs of a row, one a warp. Taps come in chunks of kDirectChunk, of each the samples that it meets.
template <Sums kSums>
__global__ void __launch_bounds__(32 * kDirectWarps) direct_sums_kernel(const __grid_constant__ Signal g) {
    using D = Direct<kSums>;
    using X = typename D::X;
    constexpr int O = D::kOutputs;
    constexpr int T = D::kTaps;
    extern __shared__ uint4 direct_memory[];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * kDirectWarps + warp;
    if (number >= g.rows.tiles) { return; }
    X* const taps = reinterpret_cast<X*>(direct_memory) + warp * D::kOfWarp;
    X* const window = taps + kDirectChunk;
    const LineTile tile = line_tile(g.a, g.rows, g.a.tiles, number);
    const auto* const filter =
        reinterpret_cast<const std::int64_t*>(static_cast<const char*>(g.taps) + filter_of(g.rows, tile, 0) * g.filter_bytes);
    const std::int64_t o = tile.tile * D::kTile;
    const std::int64_t first = g.a.first - g.a.origin - g.a.in_first + o;
    const bool inside = first >= 0 && first + D::kTile + g.a.k <= g.a.in_last - g.a.in_first;
    typename D::Sum sum[O] = {};
#pragma unroll 1
    for (std::int64_t t = 0; t < g.a.k; t += kDirectChunk) {
        const int count = static_cast<int>(min(g.a.k - t, static_cast<std::int64_t>(kDirectChunk)));
        const int padded = (count + T - 1) / T * T;
        __syncwarp();
        for (int i = lane; i < padded; i += 32) { taps[i] = i < count ? static_cast<X>(filter[t + i]) : X{0}; }
        if (inside) {
            const int needed = D::kTile + count - 1;
            const std::int64_t from = tile.in + (first + t) * g.a.in_sample;
            with_raw(g.in_bytes, [&](auto raw) {
                using Raw = decltype(raw);
                constexpr int kLoads = 8;  // that go out together
                const Raw* const in = static_cast<const Raw*>(g.a.in) + from;
#pragma unroll 1
                for (int i = lane; i < D::kTile + padded; i += 32 * kLoads) {
                    Raw some[kLoads];
#pragma unroll
                    for (int u = 0; u < kLoads; ++u) { some[u] = i + 32 * u < needed ? in[(i + 32 * u) * g.a.in_sample] : Raw{}; }
#pragma unroll
                    for (int u = 0; u < kLoads; ++u) {
                        if (i + 32 * u < D::kTile + padded) {
                            window[D::place(i + 32 * u)] = static_cast<X>(widened_raw(g, some[u]));
                        }
                    }
                }
            });
        } else {
#pragma unroll 1
            for (int i = lane; i < D::kTile + padded; i += 32) {
                window[D::place(i)] = static_cast<X>(sample_at(g, tile.in, first + t + i));
            }
        }
        __syncwarp();
        X x[O + T];
        const X* from = window + lane * (O + 1);
#pragma unroll
        for (int i = 0; i < O; ++i) { x[i] = from[i]; }
#pragma unroll 1
        for (int u = 0; u < padded; u += T) {
            X h[T];
#pragma unroll
            for (int i = 0; i < T; ++i) { h[i] = taps[u + i]; }
            const X* const next = from + D::place(u + O);
#pragma unroll
            for (int i = 0; i < T; ++i) { x[O + i] = next[i]; }
#pragma unroll
            for (int j = 0; j < T; ++j) {
#pragma unroll
                for (int i = 0; i < O; ++i) { D::add(sum[i], x[i + j], h[j]); }
            }
#pragma unroll
            for (int i = 0; i < O; ++i) { x[i] = x[i + T]; }
        }
    }
    // Through shared memory, so that neighbours are stored side by side.
    __syncwarp();
    using Sum = typename D::Sum;
    auto* const stage = reinterpret_cast<Sum*>(window);
    static_assert(D::kTile / O * (O + 1) * sizeof(Sum) <= D::kWindow * sizeof(X));
#pragma unroll
    for (int i = 0; i < O; ++i) { stage[lane * (O + 1) + i] = sum[i]; }
    __syncwarp();
    put_outputs<O>(g, tile, o + lane, g.a.count, 32, [&](int i) {
        return static_cast<std::int64_t>(static_cast<std::make_signed_t<Sum>>(stage[D::place(32 * i + lane)]));
    });
}

}  // namespace tapline::cuda::integer
