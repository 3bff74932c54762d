// Rows on their way to shared memory as halves and outputs on their way out, for the marching kernel whose factors are halves.
#pragma once

#include "cuda/families/separable/separable_halves.hpp"
#include "cuda/primitives/image/image_tile.cuh"
#include "cuda/primitives/matrix_fragments.cuh"
#include "cuda/primitives/split_barrier.cuh"

namespace tapline::cuda::image_halves_rung {

/// Where a block's window is in the image. Elements [left, right) of a row of it are in the image and lie in vectors; the others
/// come from elements `sources` of the row, or -1: are filled once.
struct Border {
    const float* in;
    std::int64_t first_row, first_element;
    int left, right;
    int* sources;
};

/// What a block's threads share besides rows.
struct alignas(kSharedBytes) Shared {
    Border border;
    SplitBarrier ready;  // at a step: its rows are halves, the next step's are floats, outputs of the step before are staged
    unsigned looks[2];   // whether the halves of a step, even or odd, need a look
    unsigned largest;    // of convert_again()
};
static_assert(sizeof(Shared) == kSharedBytes);

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
        for (int r = 0; source < 0 && r < Shape::kStages * kStepRows; ++r) { window[r * Shape::kElements + place] = absent; }
    }
    return __syncthreads_or(any ? 1 : 0) != 0;
}

/// Starts copying the elements of this thread's row that do not lie in vectors, if there is one; from: element 0 of the row.
template <class Shape>
__device__ __noinline__ void load_words(float* to, const float* from, const Border& border, bool present) {
    const int left = border.left;
    const int inner = border.right - left;
    const int* const sources = border.sources;
    const int count = present ? Shape::kElements - inner : 0;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x) % Shape::kLanes; i < count; i += Shape::kLanes) {
        const int place = i < left ? i : i + inner;
        if (sources[place] >= 0) { copy_4_async(to + place, from + sources[place]); }
    }
}

/// Starts copying this thread's row of a step, wherever it is.
template <class Shape>
__device__ __noinline__ void load_border(const ImageArguments& a, const Border& border, float* window, int step) {
    const int lane = static_cast<int>(threadIdx.x) % Shape::kLanes;
    const int own_row = static_cast<int>(threadIdx.x) / Shape::kLanes;
    float* const to = window + step % Shape::kStages * Shape::kStage + own_row * Shape::kElements;
    const std::int64_t source = source_row(a, border.first_row + step * kStepRows + own_row);
    const bool present = source >= 0;
    const float* const from = border.in + (present ? source : 0) * a.in_row;
    if (present) {
        for (int i = border.left + 4 * lane; i < border.right; i += 4 * Shape::kLanes) {
            copy_16_async(to + i, from + border.first_element + i);
        }
    } else {
        const float absent = absent_pixel<float>(a);
        for (int i = lane; i < Shape::kElements; i += Shape::kLanes) { to[i] = absent; }
    }
    // Called by all of a warp (detours.md). A row that was absent may have left its value where nothing is copied to: that is the
    // same value.
    __syncwarp();
    load_words<Shape>(to, from, border, present);
}

/// This thread's pixels of its row as halves, channels in planes. from: its first pixel of the row; to: that in the first channel's
/// high halves. The largest magnitude, as it is, or NaN.
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
            x[4 * c] = v.x;
            x[4 * c + 1] = v.y;
            x[4 * c + 2] = v.z;
            x[4 * c + 3] = v.w;
        }
#pragma unroll
        for (int i = 0; i < 4 * kChannels; ++i) {
            largest = tensor::max_or_nan(largest, x[i]);
            x[i] *= scale;
        }
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
/// registers; where it is another, the step's rows once more with it. By the whole block.
template <class Shape, int kChannels>
__device__ __noinline__ unsigned convert_again(Shared& shared, __half* halves, const float* window, int step, unsigned held,
                                               unsigned exponent) {
    const int row = static_cast<int>(threadIdx.x) / Shape::kLanes;
    const int lane = static_cast<int>(threadIdx.x) % Shape::kLanes;
    const float* const from = window + step % Shape::kStages * Shape::kStage + row * Shape::kElements;
    __half* const to = halves + step % Shape::kHalfBuffers * Shape::kHalves + row * Shape::kPitch + 4 * lane;
    unsigned bits = held;
    for (int i = lane; i < Shape::kElements; i += Shape::kLanes) {
        const unsigned magnitude = __float_as_uint(from[i]) & 0x7fffffffU;
        if (magnitude < 0x7f800000U) { bits = max(bits, magnitude); }
    }
    atomicMax(&shared.largest, bits);
    __syncthreads();
    const unsigned largest = shared.largest;
    const unsigned wanted = largest == 0 ? exponent : kScaleExponent - 16 * max(((largest >> 23) + 8) / 16, 1U);
    if (wanted != exponent) { convert_row<Shape, kChannels>(to, from + 4 * kChannels * lane, __uint_as_float(wanted << 23)); }
    __syncthreads();
    if (threadIdx.x == 0) {
        shared.largest = 0;
        shared.looks[step % 2] = 0;
    }
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

/// Outputs of this thread's row from shared memory, of several channels: `columns` of them, all finite and of the image's type.
template <class Shape>
__device__ __noinline__ void store_elements(const ImageArguments& a, float* to, const float* staged, int columns) {
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x) % Shape::kLanes; i < columns; i += Shape::kLanes) {
        __stcs(to + i, finish(a.common, staged[i]));
    }
}

/// The outputs that are staged at a step, of several channels, whatever they are; rest: as SumFactors has it.
template <class Shape>
__device__ __noinline__ void store_checked(const ImageArguments& a, int segment_rows, const float* staged, int step, int columns,
                                           float rest) {
    const int own_row = static_cast<int>(threadIdx.x) / Shape::kLanes;
    const int row = (step - Shape::kSteps - 1) * kStepRows + own_row;
    staged += (step + 1) % 2 * Shape::kOut + own_row * Shape::kOutPitch;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x) % Shape::kLanes; i < columns; i += Shape::kLanes) {
        store_border<Shape>(a, segment_rows, row, i, staged[i] * rest);
    }
}

/// A lane's outputs of one channel, all finite and of the image's type: rows g and g + 8 of pixels 8 p + 2 q and the next; to: the
/// first of them.
__device__ __forceinline__ void store_outputs(const ImageArguments& a, const HalvesMarch& g, float* to, float (&sum)[2][4]) {
    if (a.common.plain_store == 0) {
#pragma unroll
        for (int i = 0; i < 8; ++i) { sum[i / 4][i % 4] = finish(a.common, sum[i / 4][i % 4]); }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float* const own = to + i % 2 * 8 * a.out_row + i / 2 * 8;
        const float2 pair = {sum[i / 2][i % 2 * 2], sum[i / 2][i % 2 * 2 + 1]};
        if (g.out_vectors != 0) {
            __stcs(reinterpret_cast<float2*>(own), pair);
        } else {
            __stcs(own, pair.x);
            __stcs(own + 1, pair.y);
        }
    }
}

/// The same of a warp that has `left` pixels within the image.
__device__ __forceinline__ void store_some(const ImageArguments& a, float* to, float (&sum)[2][4], int left) {
    const int own = left - static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int column = i / 4 * 8 + i % 2;
        if (column < own) { to[i % 4 / 2 * 8 * a.out_row + column] = finish(a.common, sum[i / 4][i % 4]); }
    }
}

}  // namespace tapline::cuda::image_halves_rung
