// 05, the same masks on tensor cores: a block marches down a strip, and what a warp filters along rows never leaves its registers
// before it is filtered down.
#pragma once

#include "cuda/families/separable/separable_tensor_rows.cuh"
#include "cuda/primitives/tf32_fragments.cuh"

namespace tapline::cuda::image_separable_rung {

__device__ __forceinline__ void load_4(float (&to)[4], const float* from) {
    const float4 v = *reinterpret_cast<const float4*>(from);
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}

/// The taps as fragments, a vector a lane: of the row (16 pixels x 8 columns of the window) kRowSteps of high parts and kRowSteps
/// of low ones, then of the column (8 rows x 8 outputs) kRowSteps - 1 of both parts. `taps`: room for them with zeros around. By
/// the whole block.
template <int kRowSteps>
__device__ __forceinline__ void prepare_taps(const ImageArguments& a, const TensorMarch& g, float* fragments, float* taps) {
    const int thread = static_cast<int>(threadIdx.x);
    const int threads = static_cast<int>(blockDim.x);
    for (int i = thread; i < kPaddedTaps; i += threads) {
        const int along = i - kTapLead - g.lead;
        const int down = i - kTapLead;
        tf32::split(along >= 0 && along < a.mask_width ? g.row[along] : 0.0F, taps[i], taps[kPaddedTaps + i]);
        tf32::split(down >= 0 && down < a.mask_height ? g.column[down] : 0.0F, taps[2 * kPaddedTaps + i],
                    taps[3 * kPaddedTaps + i]);
    }
    __syncthreads();
    for (int i = thread; i < 2 * kRowSteps * 32; i += threads) {
        const int step = i / 32;
        const float* const own = taps + step / kRowSteps * kPaddedTaps + kTapLead + step % kRowSteps * 8 + i % 4 * 2 - i % 32 / 4;
        reinterpret_cast<float4*>(fragments)[i] = make_float4(own[0], own[-8], own[1], own[-7]);
    }
    for (int i = thread; i < (kRowSteps - 1) * 32; i += threads) {
        const float* const own = taps + 2 * kPaddedTaps + kTapLead + i / 32 * 8 + i % 4 * 2 - i % 32 / 4;
        reinterpret_cast<float4*>(fragments)[2 * kRowSteps * 32 + i] =
            make_float4(own[0], own[1], own[kPaddedTaps], own[kPaddedTaps + 1]);
    }
}

/// Rows 0..7 and 8..15 of a step, filtered along themselves: passed[h] has pixels g, g + 8 of row 8 h + 2 q, then of the next row.
/// Column j of the window has tap j - i for pixel i. Corrections have sums of their own: a tensor core cuts off what it adds to a
/// larger sum; and short chains of products wait less for each other.
template <int kRowSteps>
__device__ __forceinline__ void filter_rows(float (&first)[4], float (&second)[4], const float* window, const float* fragments) {
    float sum[2][4] = {};
    float rest[2][4] = {};
    float more[2][4] = {};
#pragma unroll
    for (int s = 0; s < kRowSteps; ++s) {
        float high_taps[4];
        float low_taps[4];
        load_4(high_taps, fragments + s * 128);
        load_4(low_taps, fragments + (kRowSteps + s) * 128);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float2 x = *reinterpret_cast<const float2*>(window + 8 * h * tensor_pitch(kRowSteps) + 8 * s);
            float high[2];
            float low[2];
            tf32::cut(x.x, high[0], low[0]);
            tf32::cut(x.y, high[1], low[1]);
            tf32::multiply(rest[h], high_taps, low);
            tf32::multiply(more[h], low_taps, high);
            tf32::multiply(sum[h], high_taps, high);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        first[i % 2 * 2 + i / 2] = sum[0][i] + (rest[0][i] + more[0][i]);
        second[i % 2 * 2 + i / 2] = sum[1][i] + (rest[1][i] + more[1][i]);
    }
}

/// Two groups of eight output rows from kColumnSteps + 1 of eight filtered rows: sum[h] has pixel g of rows 2 q, 2 q + 1, then
/// pixel g + 8.
template <int kColumnSteps>
__device__ __forceinline__ void filter_columns(float (&sum)[2][4], const float (&passed)[kColumnSteps + 1][4],
                                               const float* fragments) {
    float rest[2][4] = {};
    float more[2][4] = {};
#pragma unroll
    for (int s = 0; s < kColumnSteps; ++s) {
        float taps[4];
        load_4(taps, fragments + s * 128);
        const float high_taps[2] = {taps[0], taps[1]};
        const float low_taps[2] = {taps[2], taps[3]};
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float high[4];
            float low[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) { tf32::split(passed[h + s][i], high[i], low[i]); }
            tf32::multiply(rest[h], low, high_taps);
            tf32::multiply(more[h], high, low_taps);
            tf32::multiply(sum[h], high, high_taps);
        }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) { sum[i / 4][i % 4] += rest[i / 4][i % 4] + more[i / 4][i % 4]; }
}

/// A step of the march: 16 rows of the window are filtered along themselves, a warp 16 pixels. A product's sum is
/// pixels x rows, and lies in the lanes as the next product wants it: the last rows of sums in registers are filtered down into 16
/// rows of outputs.
///
/// Eight rows of the window (B) times the row's taps in 16 positions (A); then eight rows of those (A) times the column's taps in 8
/// positions (B). A third of what is multiplied are zeros around the taps; TF32 needs no scale, and three products make a
/// float's.
template <int kRowSteps>
__global__ void __launch_bounds__(32 * kTensorWarps, kTensorBlocks)
    march_tensor(const __grid_constant__ ImageArguments a, const __grid_constant__ TensorMarch g) {
    constexpr int kColumnSteps = kRowSteps - 1;
    constexpr int kElements = tensor_window(kRowSteps);
    constexpr int kStage = kStepRows * tensor_pitch(kRowSteps);
    extern __shared__ __align__(128) char shared[];
    static __shared__ Border border;
    auto* const window = reinterpret_cast<float*>(shared);
    float* const fragments = window + kTensorStages * kStage;
    float* const taps = fragments + (3 * kRowSteps - 1) * 128;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int pixel = 16 * warp + lane / 4;
    const int q = lane % 4;

    const ImageTile tile = tile_of_block(a, g.segment_rows, kTensorPixels);
    const float* const in = static_cast<const float*>(a.in) + tile.image * a.in_image;
    const std::int64_t first_row = a.first + tile.y - a.origin_y;
    const std::int64_t first_element = tile.e - a.origin_x - g.lead;
    const auto within = [](std::int64_t x, std::int64_t last) { return static_cast<int>(min(max(x, std::int64_t{0}), last)); };
    const int outputs = within(a.rows - tile.y, g.segment_rows);
    const int steps = (outputs + 8 * (kColumnSteps - 1) + kStepRows - 1) / kStepRows;
    Border values{
        in, first_row, first_element, kElements, kElements, 0, 0, outputs, reinterpret_cast<int*>(taps + 4 * kPaddedTaps)};
    if (g.vectors != 0) {
        values.left = (within(-first_element, kElements) + 3) / 4 * 4;
        values.right = max(values.left, within(a.row_elements - first_element, kElements) / 4 * 4);
    }
    values.begin = (within(a.in_first - first_row, kFar) + kStepRows - 1) / kStepRows;
    values.end = within(a.in_last - first_row, kFar) / kStepRows;
    const bool words = prepare_border<kRowSteps>(a, border, values, window);

    const float* from = in + (first_row - a.in_first + warp * (kStepRows / kTensorWarps)) * a.in_row + first_element;
    int filled = 0;  // stages: where the next step goes, and which one is used
    int used = 0;
    const auto load = [&](int step) {
        if (step < steps) {
            if (step >= border.begin && step < border.end) {
                load_vectors<kRowSteps>(a, window + filled, from, border.left, border.right);
                if (words) { load_words<kRowSteps>(a.in_row, window + filled, from - border.first_element, border); }
            } else {
                load_border<kRowSteps>(a, border, window + filled, step * kStepRows);
            }
            filled = filled == (kTensorStages - 1) * kStage ? 0 : filled + kStage;
            from += kStepRows * a.in_row;
        }
        commit_copies();
    };
#pragma unroll 1
    for (int step = 0; step < kTensorStages - 1; ++step) { load(step); }
    prepare_taps<kRowSteps>(a, g, fragments, taps);
    const bool whole = tile.e + 16 * warp + 16 <= a.out_elements && a.common.converts == 0;
    float* out = static_cast<float*>(a.out) + tile.image * a.out_image + (tile.y - 8 * (kColumnSteps - 1) + 2 * q) * a.out_row +
                 tile.e + pixel;
    float passed[kColumnSteps + 1][4] = {};  // eight rows each; the last two are this step's
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        wait_copies<kTensorStages - 2>();
        __syncthreads();
        load(step + kTensorStages - 1);
        filter_rows<kRowSteps>(passed[kColumnSteps - 1], passed[kColumnSteps],
                               window + used + lane / 4 * tensor_pitch(kRowSteps) + 16 * warp + 2 * q, fragments + 4 * lane);
        used = used == (kTensorStages - 1) * kStage ? 0 : used + kStage;
        const int y = step * kStepRows - 8 * (kColumnSteps - 1);
        if (y > -kStepRows) {
            float sum[2][4] = {};
            filter_columns<kColumnSteps>(sum, passed, fragments + 2 * kRowSteps * 128 + 4 * lane);
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                bool finite = true;
#pragma unroll
                for (int i = 0; i < 4; ++i) { finite = finite && fabsf(sum[h][i]) < INFINITY; }
                const int row = y + 8 * h;
                if (finite && whole && row >= 0 && row + 8 <= border.outputs) {
                    if (a.common.plain_store == 0) {
#pragma unroll
                        for (int i = 0; i < 4; ++i) { sum[h][i] = finish(a.common, sum[h][i]); }
                    }
                    float* const to = out + 8 * h * a.out_row;
                    __stcs(to, sum[h][0]);
                    __stcs(to + a.out_row, sum[h][1]);
                    __stcs(to + 8, sum[h][2]);
                    __stcs(to + a.out_row + 8, sum[h][3]);
                } else if (row >= 0) {
                    store_border(a, g.segment_rows, row + 2 * q, pixel, make_float4(sum[h][0], sum[h][1], sum[h][2], sum[h][3]));
                }
            }
        }
        out += kStepRows * a.out_row;
#pragma unroll
        for (int i = 0; i < 4 * (kColumnSteps - 1); ++i) { passed[i / 4][i % 4] = passed[i / 4 + 2][i % 4]; }
    }
}

}  // namespace tapline::cuda::image_separable_rung
