// Rows on their way to shared memory and outputs on their way out, for the marching kernel on tensor cores.
#pragma once

#include "cuda/families/separable/separable.hpp"
#include "cuda/primitives/image/image_tile.cuh"

namespace tapline::cuda::image_separable_rung {

/// Where a block's window is in the image. Elements [left, right) of a row of it are in the image and lie in vectors; the others
/// come from elements `sources` of the row, or -1: are filled once. Steps [begin, end) have all their rows in the piece. In shared
/// memory: registers are short.
struct Border {
    const float* in;
    std::int64_t first_row, first_element;
    int left, right, begin, end;
    int outputs;  // rows of the block
    int* sources;
};

/// Fills what is absent from all rows; whether elements come from elsewhere in the row.
template <int kRowSteps>
__device__ __forceinline__ bool prepare_border(const ImageArguments& a, Border& border, const Border& values, float* window) {
    constexpr int kElements = tensor_window(kRowSteps);
    if (threadIdx.x == 0) { border = values; }
    const float absent = absent_pixel<float>(a);
    const int inner = values.right - values.left;
    bool any = false;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < kElements - inner; i += 32 * kTensorWarps) {
        const int place = i < values.left ? i : i + inner;
        const auto source = static_cast<int>(source_element(a, values.first_element + place));
        values.sources[place] = source;
        any = any || source >= 0;
#pragma unroll 1
        for (int r = 0; source < 0 && r < kTensorStages * kStepRows; ++r) { window[r * tensor_pitch(kRowSteps) + place] = absent; }
    }
    return __syncthreads_or(any ? 1 : 0) != 0;
}

/// Starts copying the elements of this warp's rows that do not lie in vectors; from: the first of its rows.
template <int kRowSteps>
__device__ __noinline__ void load_words(std::int64_t in_row, float* to, const float* from, const Border& border) {
    constexpr int kRows = kStepRows / kTensorWarps;
    const int left = border.left;
    const int inner = border.right - left;
    const int* const sources = border.sources;
    to += static_cast<int>(threadIdx.x) / 32 * kRows * tensor_pitch(kRowSteps);
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x) % 32; i < tensor_window(kRowSteps) - inner; i += 32) {
        const int place = i < left ? i : i + inner;
        const int source = sources[place];
#pragma unroll
        for (int r = 0; source >= 0 && r < kRows; ++r) {
            copy_4_async(to + r * tensor_pitch(kRowSteps) + place, from + r * in_row + source);
        }
    }
}

/// Starts copying this warp's rows of a step that begins with row `row` of the window, wherever they are.
template <int kRowSteps>
__device__ __noinline__ void load_border(const ImageArguments& a, const Border& border, float* to, int row) {
    constexpr int kElements = tensor_window(kRowSteps);
    constexpr int kRows = kStepRows / kTensorWarps;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int inner = border.right - border.left;
#pragma unroll 1
    for (int r = warp * kRows; r < (warp + 1) * kRows; ++r) {
        float* const line = to + r * tensor_pitch(kRowSteps);
        const std::int64_t source = source_row(a, border.first_row + row + r);
        if (source < 0) {
            const float absent = absent_pixel<float>(a);
            for (int i = lane; i < kElements; i += 32) { line[i] = absent; }
            continue;
        }
        const float* const from = border.in + source * a.in_row;
        for (int i = border.left + 4 * lane; i < border.right; i += 128) {
            copy_16_async(line + i, from + border.first_element + i);
        }
        for (int i = lane; i < kElements - inner; i += 32) {
            const int place = i < border.left ? i : i + inner;
            if (border.sources[place] >= 0) { copy_4_async(line + place, from + border.sources[place]); }
        }
    }
}

/// The elements [left, right), vectors, of this warp's rows; from: where the window begins in the first of them.
template <int kRowSteps>
__device__ __forceinline__ void load_vectors(const ImageArguments& a, float* to, const float* from, int left, int right) {
    constexpr int kRows = kStepRows / kTensorWarps;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    to += static_cast<int>(threadIdx.x) / 32 * kRows * tensor_pitch(kRowSteps) + 4 * lane;
    from += 4 * lane;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int i = 0; i < tensor_window(kRowSteps); i += 128) {
            if (i + 4 * lane >= left && i + 4 * lane < right) { copy_16_async(to + i, from + i); }
        }
        to += tensor_pitch(kRowSteps);
        from += a.in_row;
    }
}

/// Outputs that may not exist or may not be what they should: pixel `column` of rows row, row + 1, then the pixel eight on. A sum
/// of factors is not the sum of products where a value is infinite or NaN: then they are done term by term.
__device__ __noinline__ inline void store_border(const ImageArguments& a, int segment_rows, int row, int column, float4 sums) {
    const ImageTile tile = tile_of_block(a, segment_rows, kTensorPixels);
    const float sum[4] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll 1
    for (int i = 0; i < 4; ++i) {
        const std::int64_t y = tile.y + row + i % 2;
        const std::int64_t element = tile.e + column + i / 2 * 8;
        if (row + i % 2 >= segment_rows || y >= a.rows || element >= a.out_elements) { continue; }
        float exact = i == 0 ? sum[0] : i == 1 ? sum[1] : i == 2 ? sum[2] : sum[3];
        if (!(fabsf(exact) < INFINITY)) {
            const float* const in = static_cast<const float*>(a.in) + tile.image * a.in_image;
            exact = sum_term_by_term(a, in, static_cast<const float*>(a.taps), a.first + y, element);
        }
        store_pixel<float>(a, a.out, tile.image * a.out_image + y * a.out_row + element, exact);
    }
}

}  // namespace tapline::cuda::image_separable_rung
