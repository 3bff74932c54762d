// The stretches that a fast kernel leaves: at the ends of rows under boundaries that are no zeros, strided, of another type. A
// kernel of its own, because a call in the fast kernels would cost them registers and local memory at every tile (20% of their
// speed, H200), even where it never happens.
#pragma once

#include "cuda/primitives/slow_tile.cuh"
#include "cuda/primitives/tile_window.cuh"

namespace tapline::cuda {

inline constexpr int kEdgeThreads = 128;
inline constexpr int kEdgeSlots = 256;  // taps that a warp does at a time

/// One warp a tile of 32 * V outputs. The fast kernel divides rows into stretches of `outputs` outputs whose windows have `size`
/// samples; the first `head` and the last `tail` of a row's a.tiles stretches may have been left.
/// partial: as the direct kernel's, with its segments.
template <class S, class H>
__global__ void __launch_bounds__(kEdgeThreads)
    edge_kernel(const __grid_constant__ Arguments a, int outputs, std::int64_t size, std::int64_t head, std::int64_t tail,
                int segments, std::int64_t segment_taps, void* partial) {
    constexpr int kTile = 32 * kPerVector<S>;
    extern __shared__ uint4 shared[];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    S* stage = reinterpret_cast<S*>(shared) + warp * (kTile + kEdgeSlots);
    const unsigned segment = blockIdx.x % static_cast<unsigned>(segments);
    const std::int64_t tap_first = segment * segment_taps;
    const std::int64_t taps = min(segment_taps, a.k - tap_first);
    const RowView<S> row = row_view<S>(a, row_of_block(), tap_first);
    if (row.row >= a.rows) { return; }
    const int per_stretch = (outputs + kTile - 1) / kTile;
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x / static_cast<unsigned>(segments)) * (kEdgeThreads / 32) + warp;
    const std::int64_t stretch = index / per_stretch;
    if (stretch >= head + tail) { return; }
    const TileWindow p = tile_window_of(row, stretch < head ? stretch : a.tiles - tail + (stretch - head), outputs,
                                        segments > 1 ? outputs + (taps + kPerVector<S> - 1) / kPerVector<S> * kPerVector<S> : size);
    if (p.fast) { return; }
    const std::int64_t o = p.o + (index - stretch * per_stretch) * kTile;
    if (o >= a.count) { return; }
    auto* const sums = static_cast<typename Element<S>::Sum*>(partial);
    slow_tile<S, H, 1>(a, sums == nullptr ? nullptr : sums + (segment * a.rows + row.row) * a.count, row.row, o, tap_first, taps,
                       kEdgeSlots, stage, lane);
}

}  // namespace tapline::cuda
