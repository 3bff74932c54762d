// 18: up to a few hundred taps at the speed of multiply-adds.
#pragma once

#include "cuda/families/direct/direct_window.hpp"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/exact_tile.cuh"
#include "cuda/primitives/sliding_window.cuh"
#include "cuda/primitives/store_tile.cuh"
#include "cuda/primitives/tile_window.cuh"

namespace tapline::cuda::window {

/// Each warp goes through windows on its own, without a barrier of the block. A window serves `tiles` tiles of 32 * kVectors * V
/// outputs; it lies in one of the warp's two buffers in shared memory, and while it is convolved the copy of the next is under
/// way into the other (buffers == 2; with 1 there is a warp for every window). Outputs are staged where the window is used up.
///
/// kChunks > 0: so many vectors of taps by value, unrolled. A tap in the constant bank is an operand of its products, which then
/// read two registers. With three, two of them share one of the two register banks in every second or third product, which waits
/// (80% of the issue slots used against 96%, H200). kChunks == 0: any number in a loop, in which taps pass through registers; with
/// kRowTaps they come from memory with each window. Taps in uniform registers, which the compiler grants to loops that whole blocks
/// run alike, had no such conflicts and were slower all the same (65 taps: 779 us against 690). Shared memory of a warp: buffers x
/// (tiles * tile + slots) samples, as many x slots taps if rows have their own; slots: taps rounded up.
template <class S, class H, int kVectors, int kChunks, bool kRowTaps>
__global__ void __launch_bounds__(kThreads)
    direct_window_kernel(const __grid_constant__ Arguments a, const __grid_constant__ TapsByValue<H> values,
                         const __grid_constant__ Windows g) {
    constexpr int V = kPerVector<S>;
    constexpr int O = kVectors * V;
    constexpr int kTile = 32 * O;
    using Sum = typename Element<S>::Sum;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int k = static_cast<int>(a.k);
    const int outputs = g.tiles * kTile;  // of a window
    const int size = outputs + (k + V - 1) / V * V;
    const int buffer_bytes =
        (outputs + g.slots) * static_cast<int>(sizeof(S)) + (kRowTaps ? g.slots * static_cast<int>(sizeof(H)) : 0);
    extern __shared__ uint4 shared[];
    char* const buffers = reinterpret_cast<char*>(shared) + warp * g.buffers * buffer_bytes;

    const auto is_inner = [&](int window) { return window >= g.inner_first && window < g.inner_last; };
    const auto fill = [&](std::int64_t row, int window, char* buffer) {
        S* to = reinterpret_cast<S*>(buffer);
        if (is_inner(window)) {
            const auto* from = reinterpret_cast<const uint4*>(static_cast<const S*>(a.in) + row * a.in_row + g.start +
                                                              static_cast<std::int64_t>(window) * outputs);
#pragma unroll 4
            for (int v = lane; v < size / V; v += 32) { copy_16_async(reinterpret_cast<uint4*>(to) + v, from + v); }
        } else {
            const RowView<S> view = row_view<S>(a, row, 0);
            const TileWindow p = tile_window_of(view, window, outputs, size);
            // Its own loop, although copy_or_zero_async() would do: it is the only one for rows that begin anywhere.
            if (p.fast && p.inside) {
                for (int v = lane; v < size / V; v += 32) {
                    copy_16_async(reinterpret_cast<uint4*>(to) + v, reinterpret_cast<const uint4*>(view.in + p.start) + v);
                }
            } else if (p.fast) {
                copy_or_zero_async(to, view.in, p.start, view.length, size, lane);
            }
        }
        if constexpr (kRowTaps) {
            auto* taps_to = reinterpret_cast<uint4*>(to + outputs + g.slots);
            const auto* from = reinterpret_cast<const uint4*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
            const int vectors = (k * static_cast<int>(sizeof(H)) + 15) / 16;  // rows of taps are padded to 16 bytes
            for (int v = lane; v < vectors; v += 32) { copy_16_async(taps_to + v, from + v); }
        }
        commit_copies();
    };

    // Windows of all rows in one sequence: no row waits for another's last one.
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + warp;
    std::int64_t row = index / g.windows;
    if (row >= a.rows) { return; }
    int window = static_cast<int>(index - row * g.windows);
    int buffer = 0;
    fill(row, window, buffers);
    for (;;) {
        std::int64_t next_row = row + g.step_rows;
        int next_window = window + g.step_windows;
        if (next_window >= g.windows) {
            next_window -= g.windows;
            ++next_row;
        }
        wait_copies<0>();
        __syncwarp();  // this buffer is full, and every lane is done with the other
        if (next_row < a.rows) { fill(next_row, next_window, buffers + (buffer ^ 1) * buffer_bytes); }
        const bool inner = is_inner(window);
        S* samples = reinterpret_cast<S*>(buffers + buffer * buffer_bytes);
        std::int64_t o = static_cast<std::int64_t>(window) * outputs - g.shift;
        int tiles = g.tiles;
        if (!inner) {
            const RowView<S> view = row_view<S>(a, row, 0);
            const TileWindow p = tile_window_of(view, window, outputs, size);
            o = p.o;
            const std::int64_t left = a.count - o;
            if (left < outputs) { tiles = (static_cast<int>(max(left, std::int64_t{0})) + kTile - 1) / kTile; }
            if (!p.fast) { tiles = 0; }  // left to the edge kernel
            if constexpr (kRowTaps) {
                if (p.fast && !p.inside && a.exact_edges == kExactUnlessFinite &&
                    store_unless_finite<S, H>(a, row, o, outputs, lane)) {
                    tiles = 0;
                }
            }
        }
        S* const out = static_cast<S*>(a.out) + row * a.out_row + o;
        for (int tile = 0; tile < tiles; ++tile) {
            S* tile_samples = samples + tile * kTile;
            Sum sum[O] = {};
            const auto* vectors = reinterpret_cast<const uint4*>(tile_samples) + lane * kVectors;
            if constexpr (kChunks > 0) {
                convolve_unrolled<S, kVectors, kChunks, 1>(
                    sum, [&](int v) { return vectors[v]; }, values.value, k);
            } else {
                const H* taps = reinterpret_cast<const H*>(samples + outputs + g.slots);
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
            if (inner && a.plain_store) {
                store_whole<S, kVectors>(out + tile * kTile, sum, tile_samples, lane);
            } else {
                store_tile<S, kVectors>(a, row, o + tile * kTile, sum, tile_samples, lane);
            }
        }
        if (next_row >= a.rows) { return; }
        row = next_row;
        window = next_window;
        buffer ^= 1;
    }
}

}  // namespace tapline::cuda::window
