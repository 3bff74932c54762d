// 18: up to a few hundred taps at the speed of multiply-adds.
#pragma once

#include "cuda/ladder/conv1d/direct.hpp"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/place.cuh"
#include "cuda/primitives/sliding_window.cuh"
#include "cuda/primitives/store_tile.cuh"

namespace tapline::cuda::window {

template <class H>
struct TapsByValue {
    H value[window_tap_slots<H>()];
};

/// Each warp goes through windows on its own, without a barrier of the block. A window serves `tiles` tiles of 32 * kVectors * V
/// outputs; it lies in one of the warp's two buffers in shared memory, and while it is convolved the copy of the next is under
/// way into the other (buffered == 2; with 1 there is a warp for every window). Outputs are staged where the window is used up.
///
/// kChunks > 0: so many vectors of taps by value, unrolled. A tap in the constant bank is an operand of its products, which then
/// read two registers. With three, two of them share one of the two register banks in every second or third product, which waits
/// (80% of the issue slots used against 96%, H200). kChunks == 0: any number in a loop, in which taps pass through registers; one
/// filter a row comes with its window. Taps in uniform registers, which the compiler grants to loops that whole blocks run alike,
/// had no such conflicts and were slower all the same (65 taps: 779 us against 690).
/// Shared memory of a warp: buffered x (tiles * tile + slots) samples, as many x slots taps if rows have their own; slots: taps
/// rounded up.
template <class S, class H, int kVectors, int kChunks, bool kRowTaps>
__global__ void __launch_bounds__(kThreads)
    direct_window_kernel(const __grid_constant__ Arguments a, const __grid_constant__ TapsByValue<H> values, int tiles, int slots,
                         int buffered) {
    constexpr int V = kPerVector<S>;
    constexpr int O = kVectors * V;
    constexpr int kTile = 32 * O;
    using Sum = typename Element<S>::Sum;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int k = static_cast<int>(a.k);
    const int outputs = tiles * kTile;  // of a window
    const int size = outputs + (k + V - 1) / V * V;
    const int buffer_bytes = (outputs + slots) * static_cast<int>(sizeof(S)) + (kRowTaps ? slots * static_cast<int>(sizeof(H)) : 0);
    extern __shared__ uint4 shared[];
    char* const buffers = reinterpret_cast<char*>(shared) + warp * buffered * buffer_bytes;

    const RowView<S> row = row_view<S>(a, 0);
    if (row.row >= a.rows) { return; }
    const auto fill = [&](const Place& p, char* buffer) {
        S* to = reinterpret_cast<S*>(buffer);
        if (p.fast && p.inside) {
            const auto* from = reinterpret_cast<const uint4*>(row.in + p.start);
#pragma unroll 4
            for (int v = lane; v < size / V; v += 32) { copy_16_async(reinterpret_cast<uint4*>(to) + v, from + v); }
        } else if (p.fast) {
            copy_or_zero_async(to, row.in, p.start, row.length, size, lane);
        }
        if constexpr (kRowTaps) {
            auto* taps_to = reinterpret_cast<uint4*>(to + outputs + slots);
            const auto* from = reinterpret_cast<const uint4*>(static_cast<const char*>(a.taps) + row.row * a.taps_row_bytes);
            const int vectors = (k * static_cast<int>(sizeof(H)) + 15) / 16;  // rows of taps are padded to 16 bytes
            for (int v = lane; v < vectors; v += 32) { copy_16_async(taps_to + v, from + v); }
        }
        commit_copies();
    };
    std::int64_t o = (static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + warp) * outputs - row.shift;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * (kThreads / 32) * outputs;
    if (o >= a.count) { return; }
    int buffer = 0;
    fill(place_at(row, o, size), buffers);
    for (; o < a.count; o += step, buffer ^= 1) {
        wait_copies<0>();
        __syncwarp();  // this buffer is full, and every lane is done with the other
        if (o + step < a.count) { fill(place_at(row, o + step, size), buffers + (buffer ^ 1) * buffer_bytes); }
        const Place p = place_at(row, o, size);
        S* samples = reinterpret_cast<S*>(buffers + buffer * buffer_bytes);
        if (!p.fast) { continue; }  // left to the edge kernel
        const std::int64_t left = a.count - o;
        const int here = left >= outputs ? tiles : (static_cast<int>(left) + kTile - 1) / kTile;
        S* const out = static_cast<S*>(a.out) + row.row * a.out_row + o;
        const bool plain = a.plain_store && o >= 0 && left >= outputs;  // asked once a window: most are whole
        for (int tile = 0; tile < here; ++tile) {
            S* tile_samples = samples + tile * kTile;
            Sum sum[O] = {};
            const auto* vectors = reinterpret_cast<const uint4*>(tile_samples) + lane * kVectors;
            if constexpr (kChunks > 0) {
                convolve_unrolled<S, kVectors, kChunks, 1>(
                    sum, [&](int v) { return vectors[v]; }, values.value, k);
            } else {
                const H* taps = reinterpret_cast<const H*>(samples + outputs + slots);
                convolve_looped<S, kVectors, H>(sum, vectors, k, [&](int t, H(&to)[V]) {
                    if constexpr (kRowTaps) {
                        load_taps<V>(to, taps + t);
                    } else {
#pragma unroll
                        for (int j = 0; j < V; ++j) { to[j] = values.value[t + j]; }
                    }
                });
            }
            __syncwarp();  // the samples that only this tile needed become the stage of its outputs
            if (plain) {
                store_whole<S, kVectors>(out + tile * kTile, sum, tile_samples, lane);
            } else {
                store_tile<S, kVectors>(a, row.row, o + tile * kTile, sum, tile_samples, lane);
            }
        }
    }
}

}  // namespace tapline::cuda::window
