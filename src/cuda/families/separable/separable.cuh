// 05: a mask that is a product of a column and a row: both passes in one tile.
#pragma once

#include "cuda/families/separable/separable.hpp"
#include "cuda/primitives/image/image_strip.cuh"
#include "cuda/primitives/image/image_tile.cuh"

namespace tapline::cuda::image_separable_rung {

/// A column of the window, which is one thread's: to[r * pitch] = image(y + r, element e), 0 <= r < rows.
__device__ __forceinline__ void load_column(const ImageArguments& a, float* to, int pitch, const float* in, std::int64_t y,
                                            std::int64_t e, int rows) {
    const float absent = absent_pixel<float>(a);
    const std::int64_t at = source_element(a, e);
    if (at >= 0 && y >= a.in_first && y + rows <= a.in_last) {
        const float* from = in + (y - a.in_first) * a.in_row + at;
#pragma unroll 8
        for (int r = 0; r < rows; ++r) {
            copy_4_async(to, from);
            to += pitch;
            from += a.in_row;
        }
        return;
    }
    for (int r = 0; r < rows; ++r, to += pitch) {
        const std::int64_t row = at < 0 ? -1 : source_row(a, y + r);
        if (row < 0) {
            *to = absent;
        } else {
            copy_4_async(to, in + row * a.in_row + at);
        }
    }
}

/// Channels lie apart in the window, each a plane of rows: a step along a row is one float. A thread loads whole columns, filters
/// them down and stores the sums in their place; then a few neighbouring lanes filter a row, all of them before the first stores.
template <bool kRankOne, int kAcross>
__global__ void __launch_bounds__(kMostThreads, 2)
    kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ Layout g) {
    extern __shared__ __align__(128) char shared[];
    auto* const window = reinterpret_cast<float*>(shared);
    const ImageTile tile = tile_of_block(a, g.tile_rows, g.tile_elements);
    const float* const in = static_cast<const float*>(a.in) + tile.image * a.in_image;
    const int thread = static_cast<int>(threadIdx.x);
    const int threads = static_cast<int>(blockDim.x);
    const int channels = a.channels;
    const int rows = g.tile_rows + a.mask_height - 1;
    const int columns = (g.tile_pixels + a.mask_width - 1) * channels;
    const auto place = [&](int e) { return e % channels * g.plane + e / channels; };
    for (int e = thread; e < columns; e += threads) {
        load_column(a, window + place(e), g.pitch, in, a.first + tile.y - a.origin_y, tile.e - a.origin_x * channels + e, rows);
    }
    commit_copies();
    wait_copies<0>();

    const auto* const column_taps = static_cast<const float*>(a.taps);
    const float* const row_taps = column_taps + g.rank * g.padded_height;
    float* const passed = kRankOne ? window : window + rows * g.pitch;
    const int strips = g.tile_rows * channels * g.lanes;
    constexpr int kStrips = kRankOne ? 1 : kHeldStrips;
    float sum[kStrips][kAcross] = {};
#pragma unroll 1
    for (int rank = 0; rank < g.rank; ++rank) {
        bool finite = true;
#pragma unroll 1
        for (int e = thread; e < columns; e += threads) {
            const int column = place(e);
#pragma unroll 1
            for (int y = 0; y < g.tile_rows; y += kDown) {
                float down[kDown] = {};
                add_strip<float, kDown, float>(down, window + y * g.pitch + column, g.pitch, column_taps + rank * g.padded_height,
                                               a.mask_height);
#pragma unroll
                for (int r = 0; r < kDown; ++r) {
                    finite = finite && fabsf(down[r]) < INFINITY;
                    passed[(y + r) * g.pitch + column] = down[r];
                }
            }
        }
        // A product of factors is not the sum of products where a value is infinite or NaN: such a tile is done tap by tap.
        if (__syncthreads_or(finite ? 0 : 1) != 0) {
            const float* const mask = row_taps + g.rank * g.padded_width;
#pragma unroll 1
            for (int index = thread; index < g.tile_rows * g.tile_elements; index += threads) {
                const std::int64_t y = tile.y + index / g.tile_elements;
                const std::int64_t element = tile.e + index % g.tile_elements;
                if (y >= a.rows || element >= a.out_elements) { continue; }
                store_pixel<float>(a, a.out, tile.image * a.out_image + y * a.out_row + element,
                                   sum_term_by_term(a, in, mask, a.first + y, element));
            }
            return;
        }
        // Strip s: outputs [kAcross * lane, + kAcross) of a line, a row of one channel. Lanes of a line are in one warp.
#pragma unroll(kRankOne ? 1 : kStrips)
        for (int held = 0; held < (kRankOne ? (strips + threads - 1) / threads : kStrips); ++held) {
            const int s = thread + held * threads;
            const int line = s / g.lanes;
            const int channel = line / g.tile_rows;
            float* const p = passed + (line - channel * g.tile_rows) * g.pitch + channel * g.plane + s % g.lanes * kAcross;
            float(&across)[kAcross] = sum[kRankOne ? 0 : held];
            if (s < strips) { add_strip<float, kAcross, float>(across, p, 1, row_taps + rank * g.padded_width, a.mask_width); }
            if (rank + 1 < g.rank) { continue; }
            __syncwarp();
            if (s < strips) {
#pragma unroll
                for (int i = 0; i < kAcross; ++i) {
                    p[i] = across[i];
                    if constexpr (kRankOne) { across[i] = 0; }
                }
            }
        }
        __syncthreads();
    }
#pragma unroll 1
    for (int e = thread; e < g.tile_elements; e += threads) {
        const float* const column = passed + place(e);
#pragma unroll 1
        for (int y = 0; y < g.tile_rows; y += kDown) {
            float out[kDown];
#pragma unroll
            for (int r = 0; r < kDown; ++r) { out[r] = column[(y + r) * g.pitch]; }
            store_strip<float, kDown>(a, tile, y, e, out);
        }
    }
}

}  // namespace tapline::cuda::image_separable_rung
