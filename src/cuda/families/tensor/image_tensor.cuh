// 06: masks of a few hundred taps: the rows of the mask one after the other, as products on tensor cores.
#pragma once

#include "cuda/families/tensor/image_tensor.hpp"
#include "cuda/primitives/image/image_tile.cuh"
#include "cuda/primitives/matrix_fragments.cuh"

namespace tapline::cuda::image_tensor_rung {

using tensor::load_fragment;
using tensor::multiply;
using tensor::power_of_two;

/// window(r, i) = image(y + r, pixel x + i, channel c), floats, rows kPitch bytes apart; one channel's plane of interleaved ones.
/// lead: elements before the first pixel. Ends committed.
template <int kPitch>
__device__ __forceinline__ int load_plane(const ImageArguments& a, float* window, std::int64_t image, int channel, std::int64_t y,
                                          std::int64_t x, int rows, int columns) {
    if (a.channels == 1) {
        const int lead = window_lead<float>(a, x);
        load_window(a, window, image, y, x - lead, rows, (lead + columns + 3) / 4 * 4, kPitch / 4);
        return lead;
    }
    const float* in = static_cast<const float*>(a.in) + image * a.in_image + channel;
    const float absent = absent_pixel<float>(a);
    for (int r = static_cast<int>(threadIdx.x) / 32; r < rows; r += kThreads / 32) {
        const std::int64_t source = source_row(a, y + r);
        const float* const from = in + source * a.in_row;
        float* const to = window + r * (kPitch / 4);
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x) % 32; i < columns; i += 32) {
            if (source >= 0 && x + i >= 0 && x + i < a.width) {
                copy_4_async(to + i, from + (x + i) * a.channels);
            } else {
                const std::int64_t pixel =
                    source < 0 || a.common.boundary <= kConstant ? -1 : boundary_index(a.common.boundary, x + i, a.width);
                to[i] = pixel < 0 ? absent : from[pixel * a.channels];
            }
        }
    }
    commit_copies();
    return 0;
}

/// One row of the mask: part += window rows * taps, all three products. `rows`: this lane's address of the high halves.
template <int kSteps>
__device__ __forceinline__ void multiply_row(float (&part)[8][4], unsigned rows, unsigned low_offset, const uint2* high) {
    const uint2* const low = high + 2 * entries_of(kSteps);
    unsigned x[4][4];
    unsigned x_low[4][4];
#pragma unroll
    for (int q = 0; q < 3; ++q) {
        load_fragment(x[q], rows + 32 * q);
        load_fragment(x_low[q], rows + low_offset + 32 * q);
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
        load_fragment(x[(step + 3) % 4], rows + 32 * (step + 3));
        load_fragment(x_low[(step + 3) % 4], rows + low_offset + 32 * (step + 3));
        const uint2 even = __ldg(high + 8 * step);
        const uint2 odd = __ldg(high + 8 * step - 4);
        const uint2 even_low = __ldg(low + 8 * step);
        const uint2 odd_low = __ldg(low + 8 * step - 4);
#pragma unroll
        for (int p = 0; p < 4; ++p) {
            multiply(part[2 * p], x_low[(step + p) % 4], even);
            multiply(part[2 * p + 1], x_low[(step + p) % 4], odd);
        }
#pragma unroll
        for (int p = 0; p < 4; ++p) {
            multiply(part[2 * p], x[(step + p) % 4], even_low);
            multiply(part[2 * p + 1], x[(step + p) % 4], odd_low);
        }
#pragma unroll
        for (int p = 0; p < 4; ++p) {
            multiply(part[2 * p], x[(step + p) % 4], even);
            multiply(part[2 * p + 1], x[(step + p) % 4], odd);
        }
    }
}

/// Output (y, x .. x + 63) of a warp's 16 rows: sum over the mask's rows i of X_i T_i, where row y of X_i is row y + i of the image
/// as it lies (16 rows, 64 + k_w - 1 columns) and T_i[m][b] = tap (i, m - b). What rung 21 does with the rows of a signal: floats
/// are two halves each, scaled by the tile's largest pixel and the mask's largest tap; three products make one.
///
/// Sums go to floats after every few rows of the mask: a tensor core cuts off what it adds to a larger sum, and the error would
/// grow with the number of taps.
/// kFlush: false where the mask is too small for that to matter; half the sums make room for another block.
template <int kSteps, bool kFlush>
__global__ void __launch_bounds__(kThreads, kFlush ? 2 : 3)
    kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ Scales s) {
    constexpr int kColumns = columns_of(kSteps);
    constexpr int kPitch = pitch_of(kSteps);
    constexpr int kRowsHeld = 6 / kSteps;  // rows of the mask between two flushes
    constexpr int kPairs = (kColumns / 2 + 31) / 32;
    extern __shared__ __align__(128) char shared[];
    static __shared__ unsigned largest_bits;
    auto* const window = reinterpret_cast<float*>(shared);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const unsigned block = blockIdx.x / static_cast<unsigned>(a.channels);
    const int channel = static_cast<int>(blockIdx.x - block * static_cast<unsigned>(a.channels));
    const unsigned tile_row = block / static_cast<unsigned>(a.tiles_x);
    const std::int64_t tile_x = static_cast<std::int64_t>(block - tile_row * static_cast<unsigned>(a.tiles_x)) * kTileColumns;
    const unsigned image = tile_row / static_cast<unsigned>(a.tiles_y);
    const std::int64_t tile_y = static_cast<std::int64_t>(tile_row - image * static_cast<unsigned>(a.tiles_y)) * kTileRows;
    const int rows = kTileRows + a.mask_height - 1;
    const int columns = kTileColumns + a.mask_width - 1;
    if (threadIdx.x == 0) { largest_bits = 0; }
    const int lead =
        load_plane<kPitch>(a, window, image, channel, a.first + tile_y - a.origin_y, tile_x - a.origin_x, rows, columns);
    wait_copies<0>();
    __syncthreads();

    unsigned bits = 0;  // magnitudes as integers have the same order, NaN and infinity last
    for (int r = warp; r < rows; r += kThreads / 32) {
        const float* row = window + r * (kPitch / 4) + lead;
        for (int i = lane; i < columns; i += 32) { bits = max(bits, __float_as_uint(row[i]) & 0x7fffffffu); }
    }
    for (int step = 16; step > 0; step /= 2) { bits = max(bits, __shfl_xor_sync(0xffffffffu, bits, step)); }
    if (lane == 0) { atomicMax(&largest_bits, bits); }
    __syncthreads();
    const int exponent = max(static_cast<int>(largest_bits >> 23) - 127, tensor::kTopExponent - 127);

    const std::int64_t plane = image * a.out_image + channel;  // of the output, in elements
    if (exponent == 128) {
        // Sums of products as they stand: NaN and infinity reach the outputs whose window holds them.
        const float* mask = static_cast<const float*>(a.taps) + channel * a.mask_taps;
#pragma unroll 1
        for (int index = static_cast<int>(threadIdx.x); index < kTileRows * kTileColumns; index += kThreads) {
            const int y = index / kTileColumns;
            const int x = index % kTileColumns;
            if (tile_y + y >= a.rows || (tile_x + x) * a.channels >= a.out_elements) { continue; }
            float sum = 0;
            for (int i = 0; i < a.mask_height; ++i) {
                for (int j = 0; j < a.mask_width; ++j) {
                    sum = fmaf(window[(y + i) * (kPitch / 4) + lead + x + j], mask[i * a.mask_width + j], sum);
                }
            }
            store_pixel<float>(a, a.out, plane + (tile_y + y) * a.out_row + (tile_x + x) * a.channels, sum);
        }
        return;
    }
    const float scale = power_of_two(tensor::kTopExponent - exponent);
    for (int r = warp; r < rows; r += kThreads / 32) {
        char* const row = shared + r * kPitch;
        float held[kPairs][2];
#pragma unroll
        for (int q = 0; q < kPairs; ++q) {
            const int i = 2 * (q * 32 + lane);
            held[q][0] = i < columns ? reinterpret_cast<const float*>(row)[lead + i] * scale : 0;
            held[q][1] = i + 1 < columns ? reinterpret_cast<const float*>(row)[lead + i + 1] * scale : 0;
        }
        __syncwarp();
#pragma unroll
        for (int q = 0; q < kPairs; ++q) {
            const int i = 2 * (q * 32 + lane);
            if (i < kColumns) {
                unsigned high = 0;
                unsigned low = 0;
                tensor::split(held[q][0], held[q][1], high, low);
                *reinterpret_cast<unsigned*>(row + 2 * i) = high;
                *reinterpret_cast<unsigned*>(row + 2 * kColumns + 2 * i) = low;
            }
        }
    }
    __syncthreads();

    const int g = lane / 4;
    const int warp_y = warp / kWarpsX * 16;
    const int warp_x = warp % kWarpsX * 64;
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared)) +
                       static_cast<unsigned>((warp_y + lane % 16) * kPitch + lane / 16 * 16 + warp_x * 2);
    const std::int64_t masks_before = a.mask_taps != 0 ? std::int64_t{channel} * a.mask_height : 0;
    const uint2* tables = static_cast<const uint2*>(a.table) + masks_before * 4 * entries_of(kSteps) + g % 2 * entries_of(kSteps) +
                          (kLead + 2 * (lane % 4) - g - g % 2) / 2;
    float sum[8][4] = {};
#pragma unroll 1
    for (int i = 0; kFlush && i < a.mask_height; i += kRowsHeld) {
        float part[8][4] = {};
#pragma unroll 1
        for (int held = min(kRowsHeld, a.mask_height - i); held > 0; --held) {
            multiply_row<kSteps>(part, address, 2 * kColumns, tables);
            address += kPitch;
            tables += 4 * entries_of(kSteps);
        }
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
            for (int j = 0; j < 4; ++j) { sum[n][j] += part[n][j]; }
        }
    }
#pragma unroll 1
    for (int i = 0; !kFlush && i < a.mask_height; ++i) {
        multiply_row<kSteps>(sum, address, 2 * kColumns, tables);
        address += kPitch;
        tables += 4 * entries_of(kSteps);
    }
    tensor::scale_back(sum, exponent + s.tap_exponent - 2 * tensor::kTopExponent);

    const std::int64_t x = tile_x + warp_x + 2 * (lane % 4);
    const std::int64_t width = a.out_elements / a.channels;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const std::int64_t y = tile_y + warp_y + g + 8 * half;
        if (y >= a.rows) { continue; }
        const std::int64_t index = plane + y * a.out_row;
        if (s.plain_pairs != 0 && tile_x + kTileColumns <= width) {
#pragma unroll
            for (int n = 0; n < 8; ++n) {
                __stcs(reinterpret_cast<float2*>(static_cast<float*>(a.out) + index + x + 8 * n),
                       float2{sum[n][2 * half], sum[n][2 * half + 1]});
            }
            continue;
        }
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                if (x + 8 * n + j < width) {
                    store_pixel<float>(a, a.out, index + (x + 8 * n + j) * a.channels, sum[n][2 * half + j]);
                }
            }
        }
    }
}

}  // namespace tapline::cuda::image_tensor_rung
