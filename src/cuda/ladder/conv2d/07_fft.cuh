// 07: large masks by transforms: overlap-save tiles, two at once, in one kernel.
#pragma once

#include "cuda/ladder/conv2d/fft.hpp"
#include "cuda/primitives/image_tile.cuh"
#include "cuda/primitives/small_fft.cuh"

namespace tapline::cuda::image_fft_rung {

/// Lines of a tile in shared memory: element i of line l lies at l * line + i * step.
struct Lines {
    float2* tile;
    int line, step;
};

/// Position 4-bit reversed and 3-bit reversed: which output of a transform of 16 or 8 points is where.
__device__ __forceinline__ int reversed_16(int i) { return (i & 1) << 3 | (i & 2) << 1 | (i & 4) >> 1 | (i & 8) >> 3; }

// A transform of 128 points i = r + 8 k is one of 16 over k for each r, a rotation by r q for its output q, and one of 8 over r for
// each q. Both work in place; output q + 16 s ends at position 8 k + j with q = k reversed and s = j reversed, and the mask's
// spectrum lies there too: nothing is reordered.

/// The transforms of 16 of all lines; a warp's lanes have neighbouring lines.
template <bool kInverse>
__device__ __forceinline__ void outer_pass(const Lines& lines, int count, const float2* roots) {
#pragma unroll 1
    for (int task = static_cast<int>(threadIdx.x); task < kSide * kInner; task += kThreads) {
        const int l = task % kSide;
        const int r = task / kSide;
        if (l >= count) { continue; }
        float2* const p = lines.tile + l * lines.line + r * lines.step;
        float2 x[kOuter];
#pragma unroll
        for (int k = 0; k < kOuter; ++k) { x[k] = p[k * kInner * lines.step]; }
        if constexpr (!kInverse) { transform<kOuter>(x); }
#pragma unroll
        for (int k = 1; k < kOuter; ++k) {
            float2 root = roots[r * reversed_16(k)];
            if constexpr (kInverse) { root.y = -root.y; }
            x[k] = complex_product(x[k], root);
        }
        if constexpr (kInverse) { transform_back<kOuter>(x); }
#pragma unroll
        for (int k = 0; k < kOuter; ++k) { p[k * kInner * lines.step] = x[k]; }
    }
}

/// The transforms of 8.
template <bool kInverse>
__device__ __forceinline__ void inner_pass(const Lines& lines, int count) {
#pragma unroll 1
    for (int task = static_cast<int>(threadIdx.x); task < kSide * kOuter; task += kThreads) {
        const int l = task % kSide;
        if (l >= count) { continue; }
        float2* const p = lines.tile + l * lines.line + task / kSide * kInner * lines.step;
        float2 x[kInner];
#pragma unroll
        for (int j = 0; j < kInner; ++j) { x[j] = p[j * lines.step]; }
        if constexpr (kInverse) {
            transform_back<kInner>(x);
        } else {
            transform<kInner>(x);
        }
#pragma unroll
        for (int j = 0; j < kInner; ++j) { p[j * lines.step] = x[j]; }
    }
}

/// The last pass down columns, the product with the mask's spectrum and the first pass back, in registers.
__device__ __forceinline__ void multiply_columns(float2* tile, const float2* spectrum) {
#pragma unroll 1
    for (int task = static_cast<int>(threadIdx.x); task < kSide * kOuter; task += kThreads) {
        const int x = task % kSide;
        const int y = task / kSide * kInner;
        float2 v[kInner];
        float2 h[kInner];
#pragma unroll
        for (int j = 0; j < kInner; ++j) { h[j] = __ldg(spectrum + (y + j) * kSide + x); }
#pragma unroll
        for (int j = 0; j < kInner; ++j) { v[j] = tile[(y + j) * kPitch + x]; }
        transform<kInner>(v);
#pragma unroll
        for (int j = 0; j < kInner; ++j) { v[j] = complex_product(v[j], h[j]); }
        transform_back<kInner>(v);
#pragma unroll
        for (int j = 0; j < kInner; ++j) { tile[(y + j) * kPitch + x] = v[j]; }
    }
}

/// A tile of 128 x 128 pixels gives (128 - k_h + 1) x (128 - k_w + 1) outputs. Two tiles side by side are the real and the
/// imaginary part of one: taps are real, so their outputs are the parts of the result, and nothing has to be taken apart.
__global__ void __launch_bounds__(kThreads, 1) kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ Tiles g) {
    extern __shared__ __align__(128) char shared[];
    auto* const tile = reinterpret_cast<float2*>(shared);
    float2* const roots = tile + kSide * kPitch;
    const unsigned block = blockIdx.x / static_cast<unsigned>(a.channels);
    const int channel = static_cast<int>(blockIdx.x - block * static_cast<unsigned>(a.channels));
    const unsigned tile_row = block / static_cast<unsigned>(a.tiles_x);
    const std::int64_t first_x = static_cast<std::int64_t>(block - tile_row * static_cast<unsigned>(a.tiles_x)) * 2 * g.out_columns;
    const unsigned image = tile_row / static_cast<unsigned>(a.tiles_y);
    const std::int64_t first_y = static_cast<std::int64_t>(tile_row - image * static_cast<unsigned>(a.tiles_y)) * g.out_rows;
    const float* const in = static_cast<const float*>(a.in) + image * a.in_image;
    const auto* const table = static_cast<const float2*>(a.table);
    const float absent = absent_pixel<float>(a);

    if (threadIdx.x < kSide) { roots[threadIdx.x] = table[threadIdx.x]; }
    const std::int64_t x = first_x - a.origin_x + static_cast<int>(threadIdx.x) % kSide;
    const std::int64_t at = source_element(a, x * a.channels + channel);
    const std::int64_t next = source_element(a, (x + g.out_columns) * a.channels + channel);
    // Rows that no output of the job needs are absent, so that the last tile's bits don't depend on where a band ends.
    const std::int64_t top = a.first + first_y - a.origin_y;
    const std::int64_t needed = a.rows - first_y + a.mask_height - 1;
#pragma unroll 4
    for (int y = static_cast<int>(threadIdx.x) / kSide; y < kSide; y += kThreads / kSide) {
        const std::int64_t row = y < needed ? source_row(a, top + y) : -1;
        const float* const from = in + row * a.in_row;
        tile[y * kPitch + static_cast<int>(threadIdx.x) % kSide] = {row >= 0 && at >= 0 ? from[at] : absent,
                                                                    row >= 0 && next >= 0 ? from[next] : absent};
    }
    __syncthreads();
    const Lines rows{tile, kPitch, 1};
    const Lines columns{tile, 1, kPitch};
    outer_pass<false>(rows, kSide, roots);
    __syncthreads();
    inner_pass<false>(rows, kSide);
    __syncthreads();
    outer_pass<false>(columns, kSide, roots);
    __syncthreads();
    multiply_columns(tile, table + kSide + (a.mask_taps != 0 ? channel * kSide * kSide : 0));
    __syncthreads();
    outer_pass<true>(columns, kSide, roots);
    __syncthreads();
    inner_pass<true>(rows, g.out_rows);  // rows below are no outputs
    __syncthreads();
    outer_pass<true>(rows, g.out_rows, roots);
    __syncthreads();

    // A value that is not finite, or sums beyond a float's range, spoil the whole tile: then every output is summed up by itself.
    bool finite = true;
    for (int index = static_cast<int>(threadIdx.x); index < g.out_rows * kSide; index += kThreads) {
        const float2 v = tile[index / kSide * kPitch + index % kSide];
        finite = finite && fabsf(v.x) < INFINITY && fabsf(v.y) < INFINITY;
    }
    const bool spoilt = __syncthreads_or(finite ? 0 : 1) != 0;
    const float* const mask = static_cast<const float*>(a.taps) + channel * a.mask_taps;
    const std::int64_t width = a.out_elements / a.channels;
#pragma unroll 1
    for (int index = static_cast<int>(threadIdx.x); index < g.out_rows * kSide; index += kThreads) {
        const int column = index % kSide;
        const std::int64_t y = first_y + index / kSide;
        if (column >= g.out_columns || y >= a.rows) { continue; }
        const float2 v = tile[index / kSide * kPitch + column];
#pragma unroll 1
        for (int half = 0; half < 2; ++half) {
            const std::int64_t pixel = first_x + half * g.out_columns + column;
            if (pixel >= width) { continue; }
            const std::int64_t element = pixel * a.channels + channel;
            const float sum = spoilt ? sum_term_by_term(a, in, mask, a.first + y, element) : half == 0 ? v.x : v.y;
            store_pixel<float>(a, a.out, image * a.out_image + y * a.out_row + element, sum);
        }
    }
}

}  // namespace tapline::cuda::image_fft_rung
