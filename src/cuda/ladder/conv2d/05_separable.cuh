// 05: a mask that is a product of a column and a row: both passes in one tile.
#pragma once

#include "cuda/ladder/conv2d/separable.hpp"
#include "cuda/primitives/image_strip.cuh"
#include "cuda/primitives/image_tile.cuh"

namespace tapline::cuda::image_separable_rung {

/// The row pass of a window's rows: to[r][e] = sum over j of taps[j] * from[r][lead + e + j * channels]. A warp, or half of one,
/// has a row: all its sums are made before the first is stored, so that `to` may be `from`.
template <int kChannels>
__device__ __forceinline__ void pass_along_rows(float* to, const float* from, int lead, int rows, const float* taps, int count,
                                                int any_channels, const Layout& g) {
    const int channels = kChannels > 0 ? kChannels : any_channels;
    const int lane = static_cast<int>(threadIdx.x) % g.lanes;
    const int group = static_cast<int>(threadIdx.x) / g.lanes;
    const int groups = kThreads / g.lanes;
    const int pixel = lane / channels;
    const int element = pixel * kAcross * channels + (lane - pixel * channels);
    const bool works = pixel < g.lanes / channels;
#pragma unroll 1
    for (int first = 0; first < rows; first += groups) {
        const int r = first + group;
        float sum[kAcross] = {};
        if (works && r < rows) {
            add_strip<float, kAcross, float>(sum, from + r * g.pitch + lead + element, channels, taps, count);
        }
        __syncwarp();
        if (works && r < rows) {
#pragma unroll
            for (int i = 0; i < kAcross; ++i) { to[r * g.pitch + element + i * channels] = sum[i]; }
        }
        __syncwarp();
    }
}

/// kChannels: 0 for any number; a constant makes offsets part of the loads.
template <bool kRankOne, int kChannels>
__global__ void __launch_bounds__(kThreads, kRankOne ? 2 : 1)
    kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ Layout g) {
    extern __shared__ __align__(128) char shared[];
    auto* const window = reinterpret_cast<float*>(shared);
    const ImageTile tile = tile_of_block(a, g.tile_rows, g.tile_elements);
    const std::int64_t e = tile.e - a.origin_x * a.channels;
    const int lead = window_lead<float>(a, e);
    const int rows = g.tile_rows + a.mask_height - 1;
    const int elements = (lead + g.tile_elements + (a.mask_width - 1) * a.channels + 3) / 4 * 4;
    load_window(a, window, tile.image, a.first + tile.y - a.origin_y, e - lead, rows, elements, g.pitch);
    wait_copies<0>();
    __syncthreads();
    // A product of factors is not the sum of products where a value is infinite or NaN: such a tile is done tap by tap.
    const auto* columns = static_cast<const float*>(a.taps);
    const float* const row_taps = columns + g.rank * g.padded_height;
    bool finite = true;
    for (int r = static_cast<int>(threadIdx.x) / 32; r < rows; r += kThreads / 32) {
        for (int i = static_cast<int>(threadIdx.x) % 32 * 4; i < elements; i += 32 * 4) {
            const float4 v = *reinterpret_cast<const float4*>(window + r * g.pitch + i);
            finite = finite && fabsf(v.x) < INFINITY && fabsf(v.y) < INFINITY && fabsf(v.z) < INFINITY && fabsf(v.w) < INFINITY;
        }
    }
    if (__syncthreads_or(finite ? 0 : 1) != 0) {
        const float* mask = row_taps + g.rank * g.padded_width;
#pragma unroll 1
        for (int index = static_cast<int>(threadIdx.x); index < g.tile_rows * g.tile_elements; index += kThreads) {
            const int y = index / g.tile_elements;
            const int x = index - y * g.tile_elements;
            if (tile.y + y >= a.rows || tile.e + x >= a.out_elements) { continue; }
            float sum = 0;
            for (int i = 0; i < a.mask_height; ++i) {
                for (int j = 0; j < a.mask_width; ++j) {
                    sum = fmaf(window[(y + i) * g.pitch + lead + x + j * a.channels], mask[i * a.mask_width + j], sum);
                }
            }
            store_pixel<float>(a, a.out, tile.image * a.out_image + (tile.y + y) * a.out_row + tile.e + x, sum);
        }
        return;
    }
    float* const passed = kRankOne ? window : window + rows * g.pitch;
    const int strips = g.tile_rows / kDown * g.tile_elements;
    constexpr int kStrips = kRankOne ? 1 : kHeldStrips;
    float sum[kStrips][kDown] = {};
#pragma unroll 1
    for (int rank = 0; rank < g.rank; ++rank) {
        if (rank > 0) { __syncthreads(); }
        pass_along_rows<kChannels>(passed, window, lead, rows, row_taps + rank * g.padded_width, a.mask_width, a.channels, g);
        __syncthreads();
        const float* const column = columns + rank * g.padded_height;
        if constexpr (!kRankOne) {
#pragma unroll
            for (int s = 0; s < kStrips; ++s) {
                const int index = static_cast<int>(threadIdx.x) + s * kThreads;
                if (index >= strips) { continue; }
                const int y = index / g.tile_elements;
                add_strip<float, kDown, float>(sum[s], passed + y * kDown * g.pitch + (index - y * g.tile_elements), g.pitch,
                                               column, a.mask_height);
            }
        }
    }
    const int per_thread = kRankOne ? (strips + kThreads - 1) / kThreads : kStrips;
#pragma unroll(kRankOne ? 1 : kStrips)
    for (int s = 0; s < per_thread; ++s) {
        const int index = static_cast<int>(threadIdx.x) + s * kThreads;
        if (index >= strips) { continue; }
        const int y = index / g.tile_elements * kDown;
        const int x = index - y / kDown * g.tile_elements;
        if constexpr (kRankOne) {
#pragma unroll
            for (int r = 0; r < kDown; ++r) { sum[0][r] = 0; }
            add_strip<float, kDown, float>(sum[0], passed + y * g.pitch + x, g.pitch, columns, a.mask_height);
        }
        store_strip<float, kDown>(a, tile, y, x, sum[kRankOne ? 0 : s]);
    }
}

}  // namespace tapline::cuda::image_separable_rung
