// 19: any number of taps by direct summation.
#pragma once

#include "cuda/families/direct/direct_staged.hpp"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/exact_tile.cuh"
#include "cuda/primitives/sliding_window.cuh"
#include "cuda/primitives/store_tile.cuh"
#include "cuda/primitives/tile_window.cuh"

namespace tapline::cuda::staged {

/// Each warp goes through tiles of 32 * kVectors * V outputs on its own, without a barrier of the block: their windows come one
/// after the other through its two buffers in shared memory, and while one is convolved the copy of the next is under way. A
/// filter longer than `chunk` taps passes in chunks of that many, each with its part of the window; the sums stay in registers.
///
/// Shared memory: chunk taps of the block if all tiles have the same; then a warp: 2 x (tile + chunk) samples, and else 2 x chunk
/// taps. segments > 1: block x does taps [(x % segments) * segment_taps, ...) and writes bare sums to
/// partial[(segment * rows + row) * count + o].
template <class S, class H, int kVectors>
__global__ void __launch_bounds__(kThreads)
    direct_kernel(const __grid_constant__ Arguments a, int chunk, int segments, std::int64_t segment_taps, void* partial) {
    constexpr int V = kPerVector<S>;
    constexpr int O = kVectors * V;
    constexpr int kTile = 32 * O;
    using Sum = typename Element<S>::Sum;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const unsigned segment = blockIdx.x % static_cast<unsigned>(segments);
    const std::int64_t tap_first = segment * segment_taps;
    const int taps_here = static_cast<int>(min(a.k - tap_first, min(segment_taps, std::int64_t{0x7fffffff})));
    const bool taps_change = taps_here > chunk || a.taps_row_bytes != 0;

    extern __shared__ uint4 shared[];
    const int window_bytes = (kTile + chunk) * static_cast<int>(sizeof(S));
    const int tap_bytes = chunk * static_cast<int>(sizeof(H));
    char* const base = reinterpret_cast<char*>(shared) +
                       (taps_change ? warp * 2 * (window_bytes + tap_bytes) : tap_bytes + warp * 2 * window_bytes);
    const auto window_of = [&](int buffer) { return reinterpret_cast<S*>(base + buffer * window_bytes); };
    const auto taps_of = [&](int buffer) {
        return reinterpret_cast<H*>(taps_change ? base + 2 * window_bytes + buffer * tap_bytes : reinterpret_cast<char*>(shared));
    };
    const auto copy_taps = [&](H* to, const H* from, int taps, int index, int stride) {
        const int vectors = (taps * static_cast<int>(sizeof(H)) + 15) / 16;  // rows of taps are padded to 16 bytes
        for (int v = index; v < vectors; v += stride) {
            copy_16_async(reinterpret_cast<uint4*>(to) + v, reinterpret_cast<const uint4*>(from) + v);
        }
    };

    std::int64_t tile = static_cast<std::int64_t>(blockIdx.x / static_cast<unsigned>(segments)) * (kThreads / 32) + warp;
    const std::int64_t stride = static_cast<std::int64_t>(gridDim.x / static_cast<unsigned>(segments)) * (kThreads / 32);
    const int whole_size = kTile + (taps_here + V - 1) / V * V;
    const RowView<S> row = row_view<S>(a, row_of_block(), tap_first);
    if (row.row >= a.rows) { return; }
    const auto* row_taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + row.row * a.taps_row_bytes);
    // Starts the copies for the taps [done, done + chunk) of a tile.
    const auto fill = [&](const TileWindow& p, int done, int buffer) {
        if (!p.fast) { return; }
        const int taps = min(chunk, taps_here - done);
        const int size = kTile + (taps + V - 1) / V * V;
        S* window = window_of(buffer);
        if (p.inside) {
            const auto* vectors = reinterpret_cast<const uint4*>(row.in + p.start + done);
#pragma unroll 4
            for (int v = lane; v < size / V; v += 32) { copy_16_async(reinterpret_cast<uint4*>(window) + v, vectors + v); }
        } else {
            copy_or_zero_async(window, row.in, p.start + done, row.length, size, lane);
        }
        if (taps_change) { copy_taps(taps_of(buffer), row_taps + tap_first + done, taps, lane, 32); }
        commit_copies();
    };

    if (!taps_change) {
        copy_taps(taps_of(0), row_taps + tap_first, taps_here, static_cast<int>(threadIdx.x), kThreads);
        commit_copies();
        wait_copies<0>();
        __syncthreads();
    }
    if (tile >= a.tiles) { return; }
    int buffer = 0;
    fill(tile_window_of(row, tile, kTile, whole_size), 0, buffer);
    for (; tile < a.tiles; tile += stride) {
        const TileWindow p = tile_window_of(row, tile, kTile, whole_size);
        const bool more = tile + stride < a.tiles;
        Sum* to = partial == nullptr ? nullptr : static_cast<Sum*>(partial) + (segment * a.rows + row.row) * a.count;
        bool done_already = !p.fast;  // left to the edge kernel
        if (p.fast && !p.inside && a.exact_edges == kExactUnlessFinite && store_unless_finite<S, H>(a, row.row, p.o, kTile, lane)) {
            wait_copies<0>();
            __syncwarp();  // the buffer is free
            done_already = true;
        }
        if (done_already) {
            if (more) { fill(tile_window_of(row, tile + stride, kTile, whole_size), 0, buffer); }
            continue;
        }
        Sum sum[O] = {};
        S* window = nullptr;
        for (int done = 0; done < taps_here; done += chunk) {
            wait_copies<0>();
            __syncwarp();  // this buffer is full, and every lane is done with the other
            if (done + chunk < taps_here) {
                fill(p, done + chunk, buffer ^ 1);
            } else if (more) {
                fill(tile_window_of(row, tile + stride, kTile, whole_size), 0, buffer ^ 1);
            }
            window = window_of(buffer);
            const H* taps = taps_of(buffer);
            convolve_looped<S, kVectors, H>(sum, reinterpret_cast<const uint4*>(window) + lane * kVectors,
                                            min(chunk, taps_here - done), [&](int t, H(&at)[V]) { load_taps<V>(at, taps + t); });
            buffer ^= 1;
        }
        __syncwarp();  // the window just convolved becomes the stage of its outputs
        if (to == nullptr) {
            store_tile<S, kVectors>(a, row.row, p.o, sum, window, lane);
            continue;
        }
#pragma unroll
        for (int i = 0; i < O; ++i) {
            const std::int64_t at = p.o + lane * O + i;
            if (at >= 0 && at < a.count) { to[at] = sum[i]; }
        }
    }
}

}  // namespace tapline::cuda::staged
