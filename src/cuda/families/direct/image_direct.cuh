// 04: a strip of outputs a thread, every element type, any mask.
#pragma once

#include "cuda/families/direct/image_direct.hpp"
#include "cuda/primitives/image/image_strip.cuh"
#include "cuda/primitives/image/image_tile.cuh"

namespace tapline::cuda::image_direct_rung {

/// What of a tile lies in the output: small images leave most of it empty.
struct Needed {
    int rows, elements;
};
__device__ __forceinline__ Needed needed_of(const ImageArguments& a, const ImageTile& tile, int tile_rows) {
    return {static_cast<int>(min(a.rows - tile.y, static_cast<std::int64_t>(tile_rows))),
            static_cast<int>(min(a.out_elements - tile.e, static_cast<std::int64_t>(kTileElements)))};
}

/// Small f32 masks, taps by value. A block loads its window once; a warp makes 32 neighbouring elements of R rows: its loads from
/// shared memory have no bank conflicts whatever the number of channels is, and a value loaded feeds K products.
template <int K>
__global__ void __launch_bounds__(kThreads)
    small_kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ SmallMask mask) {
    constexpr int R = kSmallRows;
    extern __shared__ __align__(128) char shared[];
    auto* const window = reinterpret_cast<float*>(shared);
    const ImageTile tile = tile_of_block(a, kSmallTileRows, kTileElements);
    const std::int64_t e = tile.e - a.origin_x * a.channels;
    const int lead = window_lead<float>(a, e);
    const Needed needed = needed_of(a, tile, kSmallTileRows);
    const int elements = (lead + needed.elements + (K - 1) * a.channels + 3) / 4 * 4;
    load_window(a, window, tile.image, a.first + tile.y - a.origin_y, e - lead, needed.rows + K - 1, elements, kSmallPitch);
    wait_copies<0>();
    __syncthreads();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int x = warp % kWarpsX * 32 + lane;
    const int y = warp / kWarpsX * R;
    if (x - lane >= needed.elements || y >= needed.rows) { return; }
    const float* p = window + y * kSmallPitch + lead + x;
    float sum[R] = {};
#pragma unroll
    for (int j = 0; j < K; ++j) {
        float column[R + K - 1];
#pragma unroll
        for (int r = 0; r < R + K - 1; ++r) { column[r] = p[r * kSmallPitch]; }
#pragma unroll
        for (int i = 0; i < K; ++i) {
#pragma unroll
            for (int r = 0; r < R; ++r) { sum[r] = fmaf(column[r + i], mask.taps[i * K + j], sum[r]); }
        }
        p += a.channels;
    }
    store_strip<float, R>(a, tile, y, x, sum);
}

/// Any type, any mask, in pieces whose windows fit in shared memory. Taps lie column by column, columns padded to kTapPadding.
template <class S, class H>
__global__ void __launch_bounds__(kThreads) kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ Pieces g) {
    constexpr int R = kRows<S>;
    constexpr int V = kPerVector<S>;
    constexpr int kTileRows = kThreads / 32 / kWarpsX * R;
    extern __shared__ __align__(128) char shared[];
    S* const window = reinterpret_cast<S*>(shared);
    const ImageTile tile = tile_of_block(a, kTileRows, kTileElements);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int x = warp % kWarpsX * 32 + lane;
    const int y = warp / kWarpsX * R;
    const H* taps = static_cast<const H*>(a.taps);
    if (a.mask_taps != 0) { taps += (tile.e + x) % a.channels * a.mask_taps; }
    const Needed needed = needed_of(a, tile, kTileRows);
    const bool works = x - lane < needed.elements && y < needed.rows;
    typename Element<S>::Sum sum[R] = {};
#pragma unroll 1
    for (int i = 0; i < a.mask_height; i += g.rows) {
        const int rows = min(g.rows, a.mask_height - i);
#pragma unroll 1
        for (int j = 0; j < a.mask_width; j += g.columns) {
            const int columns = min(g.columns, a.mask_width - j);
            const std::int64_t e = tile.e + (j - a.origin_x) * a.channels;
            const int lead = window_lead<S>(a, e);
            const int elements = (lead + needed.elements + (columns - 1) * a.channels + V - 1) / V * V;
            __syncthreads();  // the last piece's window is used up
            load_window(a, window, tile.image, a.first + tile.y - a.origin_y + i, e - lead, needed.rows + rows - 1, elements,
                        g.pitch);
            wait_copies<0>();
            __syncthreads();
            if (!works) { continue; }
            const S* p = window + y * g.pitch + lead + x;
            const H* column = taps + static_cast<std::int64_t>(j) * g.column_taps + i;
#pragma unroll 1
            for (int c = 0; c < columns; ++c) {
                add_strip<S, R, H>(sum, p, g.pitch, column, rows);
                p += a.channels;
                column += g.column_taps;
            }
        }
    }
    if (works) { store_strip<S, R>(a, tile, y, x, sum); }
}

/// What staging cannot do: terms that must stay absent (0 * inf is NaN), integer images with a constant that is no pixel value.
/// A thread an output; taps (masks, mask_height, mask_width).
template <class S, class H>
__global__ void __launch_bounds__(kThreads) exact_kernel(const __grid_constant__ ImageArguments a) {
    using Sum = typename Element<S>::Sum;
    const ImageTile tile = tile_of_block(a, 1, kThreads);
    const std::int64_t element = tile.e + static_cast<int>(threadIdx.x);
    if (element >= a.out_elements) { return; }
    const S* in = static_cast<const S*>(a.in) + tile.image * a.in_image;
    const H* taps = static_cast<const H*>(a.taps);
    if (a.mask_taps != 0) { taps += element % a.channels * a.mask_taps; }
    Sum constant;
    if constexpr (std::is_integral_v<S>) {
        constant = boundary_constant<Sum>(a.common);  // integers keep any
    } else {
        constant = Element<S>::widen(boundary_constant<S>(a.common));
    }
    Sum sum{};
    for (int i = 0; i < a.mask_height; ++i) {
        const std::int64_t row = source_row(a, a.first + tile.y - a.origin_y + i);
        if (row < 0 && a.common.boundary != kConstant) { continue; }
        for (int j = 0; j < a.mask_width; ++j) {
            const std::int64_t at = source_element(a, element + (j - a.origin_x) * a.channels);
            const H tap = taps[static_cast<std::int64_t>(i) * a.mask_width + j];
            if (row >= 0 && at >= 0) {
                multiply_add(sum, Element<S>::widen(load_element(in + row * a.in_row + at * a.in_step)), tap);
            } else if (a.common.boundary == kConstant) {
                multiply_add(sum, constant, tap);
            }
        }
    }
    store_pixel<S>(a, a.out, tile.image * a.out_image + tile.y * a.out_row + element * a.out_step, sum);
}

}  // namespace tapline::cuda::image_direct_rung
