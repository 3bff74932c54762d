// 05, masks of rank one with up to 32 rows and columns: a block marches down a strip of the image, so that each row is filtered
// along itself once and nothing but its beginning is done twice.
#pragma once

#include "cuda/families/separable/separable.hpp"
#include "cuda/primitives/image/image_pass.cuh"
#include "cuda/primitives/image/image_tile.cuh"

namespace tapline::cuda::image_separable_rung {

/// The window of a block: a strip of the rows of one image. Columns [left, right) are in the image; under a zero or constant
/// boundary the others are filled once, else they come from the elements `sources` of the same row, those on the left first.
struct Strip {
    const float* in;      // the image
    const float* corner;  // row 0, this lane's first column
    float* window;        // in shared memory
    int* sources;         // the same
    std::int64_t first_row, first_element;
    int begin, end;  // rows [begin, end) are in the piece
    int columns, left, right;
};

/// Starts copying rows [row, row + rows) of a strip to shared memory, rows spread over the warps.
template <int kChannels>
__device__ __forceinline__ void load_rows(const ImageArguments& a, const March& g, const Strip& strip, int row, int rows) {
    constexpr int kWarps = kColumns / 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float* to = strip.window + warp * g.window_pitch + lane;
    if (strip.left == 0 && strip.right == g.window_columns && row >= strip.begin && row + rows <= strip.end) {
        const float* from = strip.corner + (row + warp) * a.in_row;
#pragma unroll 1
        for (int r = warp; r < rows; r += kWarps) {
#pragma unroll
            for (int i = 0; i < kWarps + kChannels; ++i) {
                if (i < kWarps || 32 * i + lane < g.window_columns) { copy_4_async(to + 32 * i, from + 32 * i); }
            }
            from += kWarps * a.in_row;
            to += kWarps * g.window_pitch;
        }
    } else {
#pragma unroll 1
        for (int r = warp; r < rows; r += kWarps, to += kWarps * g.window_pitch) {
            const std::int64_t source = source_row(a, strip.first_row + row + r);
            if (source < 0) {
                const float absent = absent_pixel<float>(a);
                for (int i = lane; i < strip.columns; i += 32) { to[i - lane] = absent; }
                continue;
            }
            const float* const from = strip.in + source * a.in_row;
#pragma unroll
            for (int i = 0; i < kWarps + kChannels; ++i) {
                const int column = 32 * i + lane;
                if (column >= strip.left && column < strip.right) {
                    copy_4_async(to + 32 * i, from + strip.first_element + column);
                }
            }
            if (a.common.boundary > kConstant) {
                for (int i = lane; i < strip.left + strip.columns - strip.right; i += 32) {
                    const int column = i < strip.left ? i : i - strip.left + strip.right;
                    copy_4_async(to + column - lane, from + strip.sources[i]);
                }
            }
        }
    }
    commit_copies();
}

template <int kChannels>
__device__ __forceinline__ Strip strip_of(const ImageArguments& a, const March& g, const ImageTile& tile, float* window,
                                          int* sources) {
    const int thread = static_cast<int>(threadIdx.x);
    const auto within = [](std::int64_t x, std::int64_t last) { return static_cast<int>(min(max(x, std::int64_t{0}), last)); };
    Strip strip;
    strip.window = window;
    strip.sources = sources;
    strip.in = static_cast<const float*>(a.in) + tile.image * a.in_image;
    strip.first_row = a.first + tile.y - a.origin_y;
    strip.first_element = tile.e - a.origin_x * kChannels;
    strip.begin = within(a.in_first - strip.first_row, kFar);
    strip.end = within(a.in_last - strip.first_row, kFar);
    strip.columns = within(a.out_elements - tile.e, kColumns) + g.window_columns - kColumns;
    strip.left = within(-strip.first_element, strip.columns);
    strip.right = max(strip.left, within(a.row_elements - strip.first_element, strip.columns));
    strip.corner = strip.in + (strip.first_row - a.in_first) * a.in_row + strip.first_element + thread % 32;
    const float absent = absent_pixel<float>(a);
    for (int i = thread; i < strip.left + strip.columns - strip.right; i += kColumns) {
        const int column = i < strip.left ? i : i - strip.left + strip.right;
        if (a.common.boundary > kConstant) {
            sources[i] = static_cast<int>(source_element(a, strip.first_element + column));
        } else {
            for (int r = 0; r < kSide; ++r) { window[r * g.window_pitch + column] = absent; }
        }
    }
    __syncthreads();
    return strip;
}

/// Outputs [0, rows) of rows y.. of a column. A sum of factors is not the sum of products where a value is infinite or NaN: then
/// they are done term by term.
__device__ __forceinline__ void store_column(const ImageArguments& a, const ImageTile& tile, const float* in, int y, int rows,
                                             float (&sum)[kSide]) {
    const std::int64_t element = tile.e + static_cast<int>(threadIdx.x);
    if (element >= a.out_elements) { return; }
    const std::int64_t index = tile.image * a.out_image + (tile.y + y) * a.out_row + element;
    bool finite = true;
    if (rows == kSide && a.common.plain_store != 0 && a.common.converts == 0) {
        float* const to = static_cast<float*>(a.out) + index;
        const auto step = static_cast<std::uint32_t>(a.out_row);
#pragma unroll
        for (int r = 0; r < kSide; ++r) {
            finite = finite && fabsf(sum[r]) < INFINITY;
            __stcs(to + static_cast<std::uint64_t>(step) * r, sum[r]);
        }
    } else {
#pragma unroll
        for (int r = 0; r < kSide; ++r) {
            if (r < rows) {
                finite = finite && fabsf(sum[r]) < INFINITY;
                store_pixel<float>(a, a.out, index + r * a.out_row, sum[r]);
            }
        }
    }
    if (finite) { return; }
    const auto* const mask = static_cast<const float*>(a.taps);
#pragma unroll 1
    for (int r = 0; r < rows; ++r) {
        const float exact = sum_term_by_term(a, in, mask, a.first + tile.y + y + r, element);
        store_pixel<float>(a, a.out, index + r * a.out_row, exact);
    }
}

/// A step of the march: kSide rows of the window are filtered along themselves, a thread kSide outputs of one of them, into a ring
/// of rows; while the next rows arrive, a thread a column, the ring is filtered down into kSide rows of outputs. Before the first,
/// the rows of the halo are filtered.
template <int kChannels>
__global__ void __launch_bounds__(kColumns, blocks_of(kChannels))
    march(const __grid_constant__ ImageArguments a, const __grid_constant__ March g) {
    extern __shared__ __align__(128) char shared[];
    auto* const window = reinterpret_cast<float*>(shared);
    float* const ring = window + kSide * g.window_pitch;
    float* const ring_end = ring + g.ring_rows * kRingPitch;
    const ImageTile tile = tile_of_block(a, g.segment_rows, kColumns);
    const int thread = static_cast<int>(threadIdx.x);
    const int halo = a.mask_height - 1;
    const int outputs = static_cast<int>(min(static_cast<std::int64_t>(g.segment_rows), a.rows - tile.y));

    const Strip strip = strip_of<kChannels>(a, g, tile, window, reinterpret_cast<int*>(ring_end));
    const auto rows_at = [&](int m) { return m < halo ? min(kSide, halo - m) : kSide; };
    const int row = thread % kSide;
    const int group = thread / kSide * kSide;
    int slot = 0;  // row m's place in the ring
    load_rows<kChannels>(a, g, strip, 0, rows_at(0));
#pragma unroll 1
    for (int m = 0; m - halo < outputs;) {
        const int rows = rows_at(m);
        wait_copies<0>();
        __syncthreads();
        if (row < rows) {
            float sum[kSide];
            filter_row<kSide, kChannels>(sum, window + row * g.window_pitch + group, g.row, a.mask_width);
            const int place = slot + row < g.ring_rows ? slot + row : slot + row - g.ring_rows;
            auto* const to = reinterpret_cast<float4*>(ring + place * kRingPitch + group);
#pragma unroll
            for (int i = 0; i < kSide; i += 4) { to[i / 4] = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]); }
        }
        __syncthreads();
        const int y = m - halo;
        m += rows;
        if (m - halo < outputs) { load_rows<kChannels>(a, g, strip, m, rows_at(m)); }
        if (y >= 0) {
            const int first = slot >= halo ? slot - halo : slot - halo + g.ring_rows;
            float sum[kSide];
            filter_column<kSide, kRingPitch, kSection>(sum, ring + first * kRingPitch + thread, ring_end, g.ring_rows * kRingPitch,
                                                       g.column, a.mask_height);
            store_column(a, tile, strip.in, y, min(outputs - y, kSide), sum);
        }
        slot += rows;
        if (slot >= g.ring_rows) { slot -= g.ring_rows; }
    }
}

}  // namespace tapline::cuda::image_separable_rung
