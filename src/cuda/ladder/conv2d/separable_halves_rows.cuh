// Rows on their way to shared memory as halves and outputs on their way out, for the marching kernel whose factors are halves.
#pragma once

#include "cuda/ladder/conv2d/separable_halves.hpp"
#include "cuda/primitives/image_tile.cuh"
#include "cuda/primitives/matrix_fragments.cuh"

namespace tapline::cuda::image_halves_rung {

/// Where a block's window is in the image. Elements [left, right) of a row of it are in the image and lie in vectors; the others
/// come from elements `sources` of the row, or -1: are filled once. Steps [begin, end) have all their rows in the piece. In shared
/// memory: registers are short.
struct Border {
    const float* in;
    std::int64_t first_row, first_element;
    int left, right, begin, end;
    int* sources;
};

/// Fills what is absent from all rows; whether elements come from elsewhere in the row.
template <class Shape>
__device__ __forceinline__ bool prepare_border(const ImageArguments& a, Border& border, const Border& values, float* window) {
    if (threadIdx.x == 0) { border = values; }
    const float absent = absent_pixel<float>(a);
    const int inner = values.right - values.left;
    bool any = false;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < Shape::kElements - inner; i += Shape::kThreads) {
        const int place = i < values.left ? i : i + inner;
        const auto source = static_cast<int>(source_element(a, values.first_element + place));
        values.sources[place] = source;
        any = any || source >= 0;
#pragma unroll 1
        for (int r = 0; source < 0 && r < kStages * kStepRows; ++r) { window[r * Shape::kElements + place] = absent; }
    }
    return __syncthreads_or(any ? 1 : 0) != 0;
}

/// Starts copying the elements of this thread's row that do not lie in vectors; from: element 0 of the row.
template <class Shape>
__device__ __noinline__ void load_words(float* to, const float* from, const Border& border) {
    const int left = border.left;
    const int inner = border.right - left;
    const int* const sources = border.sources;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x) % Shape::kLanes; i < Shape::kElements - inner; i += Shape::kLanes) {
        const int place = i < left ? i : i + inner;
        if (sources[place] >= 0) { copy_4_async(to + place, from + sources[place]); }
    }
}

/// Starts copying this thread's row of a step, row `row` of the window, wherever it is.
template <class Shape>
__device__ __noinline__ void load_border(const ImageArguments& a, const Border& border, float* to, int row) {
    const int lane = static_cast<int>(threadIdx.x) % Shape::kLanes;
    const std::int64_t source = source_row(a, border.first_row + row);
    if (source < 0) {
        const float absent = absent_pixel<float>(a);
        for (int i = lane; i < Shape::kElements; i += Shape::kLanes) { to[i] = absent; }
        return;
    }
    const float* const from = border.in + source * a.in_row;
    for (int i = border.left + 4 * lane; i < border.right; i += 4 * Shape::kLanes) {
        copy_16_async(to + i, from + border.first_element + i);
    }
    // A row that was absent may have left its value where nothing is copied to: that is the same value.
    load_words<Shape>(to, from, border);
}

/// This thread's pixels of its row as halves, channels in planes. from: its first pixel of the row; to: that in the first channel's
/// high halves. The largest magnitude, scaled; passes over NaN.
template <class Shape, int kChannels>
__device__ __forceinline__ float convert_row(__half* to, const float* from, float scale) {
    constexpr int kQuads = Shape::kWindow / 4;
    constexpr int kTurns = (kQuads + Shape::kLanes - 1) / Shape::kLanes;
    const int lane = static_cast<int>(threadIdx.x) % Shape::kLanes;
    float largest = 0;
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        if (kQuads % Shape::kLanes != 0 && k + 1 == kTurns && lane >= kQuads - Shape::kLanes * k) { break; }
        float x[4 * kChannels];
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
            const float4 v = *reinterpret_cast<const float4*>(from + 4 * (Shape::kLanes * kChannels * k + c));
            x[4 * c] = v.x * scale;
            x[4 * c + 1] = v.y * scale;
            x[4 * c + 2] = v.z * scale;
            x[4 * c + 3] = v.w * scale;
        }
#pragma unroll
        for (int i = 0; i < 4 * kChannels; ++i) { largest = fmaxf(largest, fabsf(x[i])); }
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
            __half* const own = to + 2 * c * Shape::kPart + 4 * Shape::kLanes * k;
            uint2 high;
            uint2 low;
            tensor::split(x[c], x[kChannels + c], high.x, low.x);
            tensor::split(x[2 * kChannels + c], x[3 * kChannels + c], high.y, low.y);
            *reinterpret_cast<uint2*>(own) = high;
            *reinterpret_cast<uint2*>(own + Shape::kPart) = low;
        }
    }
    return largest;
}

/// The exponent of the scale that a step's largest finite magnitude asks for, or `held`, the bits of one that this thread keeps in
/// registers; where it is another, the step's rows once more with it. By the whole block; `from`, `to` as above; largest: 0.
template <class Shape, int kChannels>
__device__ __noinline__ unsigned convert_again(unsigned* largest, __half* to, const float* from, unsigned held, unsigned exponent) {
    const int lane = static_cast<int>(threadIdx.x) % Shape::kLanes;
    unsigned bits = held;
    for (int i = lane; i < Shape::kElements; i += Shape::kLanes) {
        const unsigned magnitude = __float_as_uint((from - 4 * kChannels * lane)[i]) & 0x7fffffffU;
        if (magnitude < 0x7f800000U) { bits = max(bits, magnitude); }
    }
    atomicMax(largest, bits);
    __syncthreads();
    const unsigned wanted = *largest == 0 ? exponent : kScaleExponent - 16 * max(((*largest >> 23) + 8) / 16, 1U);
    if (wanted != exponent) { convert_row<Shape, kChannels>(to, from, __uint_as_float(wanted << 23)); }
    __syncthreads();
    if (threadIdx.x == 0) { *largest = 0; }
    return wanted;
}

/// Element `column` of row `row` of the block, that may not exist, be of another type or not what it should be. A sum of factors is
/// not the sum of products where a value is infinite or NaN: then it is done term by term.
template <class Shape>
__device__ __noinline__ void store_border(const ImageArguments& a, int segment_rows, int row, int column, float sum) {
    const ImageTile tile = tile_of_block(a, segment_rows, Shape::kOutRow);
    const std::int64_t y = tile.y + row;
    const std::int64_t element = tile.e + column;
    if (row >= segment_rows || y >= a.rows || element >= a.out_elements) { return; }
    if (!(fabsf(sum) < INFINITY)) {
        const float* const in = static_cast<const float*>(a.in) + tile.image * a.in_image;
        sum = sum_term_by_term(a, in, static_cast<const float*>(a.taps), a.first + y, element);
    }
    store_pixel<float>(a, a.out, tile.image * a.out_image + y * a.out_row + element, sum);
}

/// A step's outputs of this thread's row, row `row` of the block, from shared memory, where they are not what vectors of them could
/// be. `columns` of them exist. to: the row.
template <class Shape>
__device__ __noinline__ void store_elements(const ImageArguments& a, int segment_rows, float* to, const float* staged, int row,
                                            int columns) {
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x) % Shape::kLanes; i < columns; i += Shape::kLanes) {
        const float sum = staged[i];
        if (fabsf(sum) < INFINITY && a.common.converts == 0) {
            __stcs(to + i, finish(a.common, sum));
        } else {
            store_border<Shape>(a, segment_rows, row, i, sum);
        }
    }
}

/// The same; vectors: all columns exist and need no epilogue.
template <class Shape>
__device__ __forceinline__ void store_row(const ImageArguments& a, int segment_rows, float* to, const float* staged, int row,
                                          int columns, bool vectors) {
    const int lane = static_cast<int>(threadIdx.x) % Shape::kLanes;
    static_assert(Shape::kOutRow == 8 * Shape::kLanes);
    const float4 u = reinterpret_cast<const float4*>(staged)[lane];
    const float4 v = reinterpret_cast<const float4*>(staged)[lane + Shape::kLanes];
    const auto finite = [](const float4& x) {
        return fabsf(x.x) < INFINITY && fabsf(x.y) < INFINITY && fabsf(x.z) < INFINITY && fabsf(x.w) < INFINITY;
    };
    if (!vectors) { return store_elements<Shape>(a, segment_rows, to, staged, row, columns); }
    if (!(finite(u) && finite(v))) {
#pragma unroll 1
        for (int i = 0; i < 8; ++i) {
            const int column = 4 * (lane + i / 4 * Shape::kLanes) + i % 4;
            store_border<Shape>(a, segment_rows, row, column, staged[column]);
        }
        return;
    }
    __stcs(reinterpret_cast<float4*>(to) + lane, u);
    __stcs(reinterpret_cast<float4*>(to) + lane + Shape::kLanes, v);
}

}  // namespace tapline::cuda::image_halves_rung
