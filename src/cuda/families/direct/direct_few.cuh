// 17: up to 36 taps at the price of a copy.
#pragma once

#include "cuda/families/direct/direct_few.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/exact_tile.cuh"
#include "cuda/primitives/sliding_window.cuh"
#include "cuda/primitives/store_tile.cuh"
#include "cuda/primitives/tile_window.cuh"

namespace tapline::cuda::few {

/// A warp makes 32 * kVectors * V consecutive outputs of a row, lane l the O = kVectors * V from l * O on. Its windows are read
/// straight from global memory by 16-byte loads: neighbouring lanes read overlapping vectors, which the L1 cache serves. Tiles
/// start where loads are aligned. kChunks: vectors of taps. kRowTaps: they come from memory, as rows have their own or nobody knew
/// them before. Shared memory of a warp: a tile.
template <class S, class H, int kVectors, int kChunks, bool kRowTaps>
__global__ void __launch_bounds__(128)
    direct_few_kernel(const __grid_constant__ Arguments a, const __grid_constant__ TapsByValue<H> values, int tiles_per_block) {
    constexpr int V = kPerVector<S>;
    constexpr int O = kVectors * V;
    constexpr int kTile = 32 * O;
    constexpr int kWindow = kTile + kChunks * V;
    extern __shared__ uint4 shared[];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warps = static_cast<int>(blockDim.x) / 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    S* stage = reinterpret_cast<S*>(shared) + warp * kTile;
    const int k = static_cast<int>(a.k);
    std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * tiles_per_block * warps + warp;
    const RowView<S> row = row_view<S>(a, row_of_block(), 0);
    if (row.row >= a.rows) { return; }
    H own_taps[kChunks * V];
    const auto load_own_taps = [&] {
        const auto* from = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + row.row * a.taps_row_bytes);
        for_turns<0, kChunks>([&](auto chunk) {
            constexpr int c = decltype(chunk)::value;
            H some[V];
            load_taps<V>(some, from + c * V);
#pragma unroll
            for (int j = 0; j < V; ++j) { own_taps[c * V + j] = some[j]; }
        });
    };
    // Once a warp or once a tile: with 16-bit samples, several tiles a warp, the first is 1% faster (4 taps, H200); with 32-bit
    // ones, a tile a warp, it is 6% slower.
    constexpr bool kOnce = sizeof(S) == 2;
    if constexpr (kRowTaps && kOnce) { load_own_taps(); }
    bool edges_are_made = false;  // outside the loop: within, rows' own taps of 16-bit samples cost 1%
    if constexpr (kRowTaps) {
        if (a.exact_edges == kExactUnlessFinite) {
            for (int i = 0; i < tiles_per_block && tile + i * warps < a.tiles; ++i) {
                const TileWindow p = tile_window_of(row, tile + i * warps, kTile, kWindow);
                if (p.fast && !p.inside && store_unless_finite<S, H>(a, row.row, p.o, kTile, lane)) { edges_are_made = true; }
            }
        }
    }
    for (int i = 0; i < tiles_per_block && tile < a.tiles; ++i, tile += warps) {
        const TileWindow p = tile_window_of(row, tile, kTile, kWindow);
        if (!p.fast || (edges_are_made && !p.inside)) { continue; }  // else left to the edge kernel
        typename Element<S>::Sum sum[O] = {};
        const S* in = row.in + p.start + lane * O;
        const auto convolve = [&](const auto& vector) {
            if constexpr (kRowTaps) {
                if constexpr (!kOnce) { load_own_taps(); }
                convolve_unrolled<S, kVectors, kChunks, 1>(sum, vector, own_taps, k);
            } else {
                convolve_unrolled<S, kVectors, kChunks, 1>(sum, vector, values.value, k);
            }
        };
        if (p.inside) {
            convolve([&](int v) { return reinterpret_cast<const uint4*>(in)[v]; });
        } else {
            const std::int64_t first = p.start + lane * O;
            convolve([&](int v) { return vector_or_zeros(in, first, row.length, v); });
        }
        store_tile<S, kVectors>(a, row.row, p.o, sum, stage, lane);
    }
}

/// The same for signals that do not fill the device, where a launch and one trip to memory are all the time there is: nothing
/// lies between the launch and the loads but what the loads need, and no part of the code is fetched that is not executed.
/// A zero boundary, finite taps, contiguous rows that begin on 16 bytes, no epilogue, fewer than 2^30 samples.
template <class S, class H, int kChunks>
__global__ void __launch_bounds__(128)
    direct_short_kernel(const __grid_constant__ ShortRows rows, const __grid_constant__ TapsByValue<H> values) {
    constexpr int V = kPerVector<S>;
    const int shift = rows.offset & (V - 1);
    const int o = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * V - shift;
    const int start = o + rows.offset;  // a multiple of V
    const S* in = static_cast<const S*>(rows.in) + blockIdx.y * rows.in_row;
    const auto* vectors = reinterpret_cast<const uint4*>(in + start);
    uint4 window[kChunks + 1];
#pragma unroll
    for (int v = 0; v <= kChunks; ++v) {
        const int first = start + v * V;
        window[v] = first >= 0 && first + V <= rows.length ? vectors[v] : uint4{};
    }
    if (rows.length % V != 0) {  // the last samples are no whole vector
        const int last = rows.length / V * V;
        union {
            uint4 whole;
            S parts[V];
        } vector;
        vector.whole = uint4{};
#pragma unroll
        for (int i = 0; i + 1 < V; ++i) {
            if (last + i < rows.length) { vector.parts[i] = in[last + i]; }
        }
#pragma unroll
        for (int v = 0; v <= kChunks; ++v) {
            if (start + v * V == last) { window[v] = vector.whole; }
        }
    }
    typename Element<S>::Sum sum[V] = {};
    // Reads the taps' cache lines while the samples are on their way: a product that met a missing one would wait for it.
    constexpr int kStep = 32 / static_cast<int>(sizeof(H));
    float zero;
    asm volatile("mov.f32 %0, 0f00000000;" : "=f"(zero));  // the compiler must not see that nothing is added
#pragma unroll
    for (int t = 0; t < kChunks * V; t += kStep) { sum[0] = fmaf(values.value[t], zero, sum[0]); }
    sum[0] = fmaf(values.value[kChunks * V - 1], zero, sum[0]);
    convolve_unrolled<S, 1, kChunks, 1>(
        sum, [&](int v) { return window[v]; }, values.value, rows.k);
    S* out = static_cast<S*>(rows.out) + blockIdx.y * rows.out_row + o;
    if (o >= 0 && o + V <= rows.count && reinterpret_cast<std::uintptr_t>(out) % 16 == 0) {
        *reinterpret_cast<uint4*>(out) = pack<S>(sum);
        return;
    }
#pragma unroll
    for (int i = 0; i < V; ++i) {
        if (o + i >= 0 && o + i < rows.count) { out[i] = Element<S>::narrow(sum[i]); }
    }
}

}  // namespace tapline::cuda::few
