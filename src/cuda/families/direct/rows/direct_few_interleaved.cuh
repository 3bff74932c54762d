// 17: few taps of two to four interleaved rows.
#pragma once

#include "cuda/families/direct/direct_few_rows.hpp"
#include "cuda/families/direct/rows/few_window.cuh"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/store_tile.cuh"
#include "cuda/primitives/tile_window.cuh"

namespace tapline::cuda::few {

/// As direct_few_kernel, of interleaved rows that are one row (as_one_row()): of an output's samples each lies kChannels after the
/// one before. A zero boundary, samples on 16 bytes, finite taps. H: kChannels floats where rows have their own: a thread's first
/// output is always one of the first row.
template <class H, int kChannels, int kChunks>
__global__ void __launch_bounds__(kInterleavedThreads)
    direct_few_interleaved_kernel(const __grid_constant__ Arguments a, const __grid_constant__ TapsByValue<H> values) {
    static_assert(sizeof(H) == sizeof(float) || kInterleavedVectors * 4 % kChannels == 0);
    constexpr int V = 4;
    constexpr int O = kInterleavedVectors * V;
    constexpr int kTile = 32 * O;
    constexpr int kWindow = kTile + kChunks * kChannels * V;
    extern __shared__ uint4 shared[];  // kInterleavedBytes
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * (kInterleavedThreads / 32) + warp;
    if (tile >= a.tiles) { return; }
    const RowView<float> row = row_view<float>(a, 0, 0);
    const TileWindow p = tile_window_of(row, tile, kTile, kWindow);
    const std::int64_t first = p.start + lane * O;
    const float* const in = row.in + first;
    float sum[O] = {};
    const auto convolve = [&](const auto& vector) {
        convolve_few<V, kChannels, kChunks>(sum, values, static_cast<int>(a.k), vector,
                                            [](float* to, uint4 samples) { unpack<float>(to, samples); });
    };
    if (p.inside) {
        convolve([&](int v) { return reinterpret_cast<const uint4*>(in)[v]; });
    } else {
        convolve([&](int v) { return vector_or_zeros(in, first, row.length, v); });
    }
    store_tile<float, kInterleavedVectors>(a, 0, p.o, sum, reinterpret_cast<float*>(shared + warp * 32 * kInterleavedVectors),
                                           lane);
}

}  // namespace tapline::cuda::few
