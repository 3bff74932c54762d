// 05, masks of 18 to 32 rows or columns on tensor cores: factors are halves, of which a product takes twice as many taps as in
// TF32.
#pragma once

#include "cuda/ladder/conv2d/separable_halves_rows.cuh"

namespace tapline::cuda::image_halves_rung {

/// A factor's taps as fragments (16 outputs x 16 places of the window), high and low halves. Place j has tap j - i for output i.
template <int kSteps>
struct TapFragments {
    unsigned high[kSteps][4], low[kSteps][4];
};

/// Fragments of both factors for load_taps(), by the whole block. taps: of each with zeros around them.
template <class Shape, int kSteps>
__device__ __forceinline__ void prepare_taps(uint4* to, const float* taps) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    taps += kTapLead + lane % 4 * 2 - lane / 4;
    for (int step = static_cast<int>(threadIdx.x) / 32; step < 2 * kSteps; step += Shape::kThreads / 32) {
        const float* const own = taps + step / kSteps * kPaddedTaps + step % kSteps * 16;
        uint4 high;
        uint4 low;
        tensor::split(own[0], own[1], high.x, low.x);
        tensor::split(own[-8], own[-7], high.y, low.y);
        tensor::split(own[8], own[9], high.z, low.z);
        high.w = high.x;
        low.w = low.x;
        to[64 * step + lane] = high;
        to[64 * step + 32 + lane] = low;
    }
}

/// Through shared memory: two words of a fragment are the same, and a compiler that knew would put fragments together from one at
/// each product.
template <int kSteps>
__device__ __forceinline__ void load_taps(TapFragments<kSteps>& taps, const uint4* from) {
    from += threadIdx.x % 32;
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
        const auto unpack = [](unsigned(&to)[4], const uint4& v) {
            to[0] = v.x;
            to[1] = v.y;
            to[2] = v.z;
            to[3] = v.w;
        };
        unpack(taps.high[s], from[64 * s]);
        unpack(taps.low[s], from[64 * s + 32]);
    }
}

/// A step's rows filtered along themselves: sum[h] has pixel g of rows 8 h + 2 q and the next, then pixel g + 8. window: this
/// lane's address for rows of halves as fragments. Corrections have sums of their own: a tensor core cuts off what it adds to a
/// larger one.
template <class Shape, int kSteps>
__device__ __forceinline__ void filter_rows(float (&sum)[2][4], unsigned window, const TapFragments<kSteps>& taps) {
    float rest[2][4] = {};
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            unsigned x[4];  // two words of high halves, two of low ones
            tensor::load_fragment(x, window + static_cast<unsigned>(sizeof(__half)) * (8 * h * Shape::kPitch + 16 * s));
            tensor::multiply(rest[h], taps.high[s], uint2{x[2], x[3]});
            tensor::multiply(sum[h], taps.high[s], uint2{x[0], x[1]});
            tensor::multiply(rest[h], taps.low[s], uint2{x[0], x[1]});
        }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) { sum[i / 4][i % 4] += rest[i / 4][i % 4]; }
}

/// 16 filtered rows as a factor of the second product: words of pixels g and g + 8, of rows 2 q and 2 q + 8.
struct PassedRows {
    unsigned high[4], low[4];
};

__device__ __forceinline__ void pack_rows(PassedRows& to, const float (&sum)[2][4], float factor) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int p = 0; p < 2; ++p) {
            tensor::split(sum[h][2 * p] * factor, sum[h][2 * p + 1] * factor, to.high[2 * p + h], to.low[2 * p + h]);
        }
    }
}

/// The largest finite magnitude of held rows, as bits, without their scale.
__device__ __forceinline__ unsigned largest_of(const PassedRows& rows, float unscale) {
    float largest = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(&rows.high[i]));
        if (fabsf(pair.x) < INFINITY) { largest = fmaxf(largest, fabsf(pair.x)); }
        if (fabsf(pair.y) < INFINITY) { largest = fmaxf(largest, fabsf(pair.y)); }
    }
    return __float_as_uint(fminf(largest * unscale, 0x1.fffffep127F));
}

/// Held rows with another scale.
__device__ __forceinline__ void rescale(PassedRows& rows, float ratio) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 high = __half22float2(*reinterpret_cast<const __half2*>(&rows.high[i]));
        const float2 low = __half22float2(*reinterpret_cast<const __half2*>(&rows.low[i]));
        tensor::split((high.x + low.x) * ratio, (high.y + low.y) * ratio, rows.high[i], rows.low[i]);
    }
}

/// out[p] += the rows of all steps times the column's taps: rows g and g + 8 of pixels 8 p + 2 q and the next. Corrections have
/// sums of their own, as along rows.
template <int kSteps>
__device__ __forceinline__ void filter_columns(float (&out)[2][4], const TapFragments<kSteps>& taps,
                                               const PassedRows (&rows)[kSteps], float scale) {
    float rest[2][4] = {};
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
#pragma unroll
        for (int p = 0; p < 2; ++p) {
            const uint2 high = {rows[s].high[2 * p], rows[s].high[2 * p + 1]};
            tensor::multiply(rest[p], taps.high[s], uint2{rows[s].low[2 * p], rows[s].low[2 * p + 1]});
            tensor::multiply(out[p], taps.high[s], high);
            tensor::multiply(rest[p], taps.low[s], high);
        }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) { out[i / 4][i % 4] = (out[i / 4][i % 4] + rest[i / 4][i % 4]) * scale; }
}

/// 2^exponent, 0 below a float's range, infinity above.
__device__ __forceinline__ float power_of(int exponent) { return __int_as_float(min(max(exponent + 127, 0), 255) << 23); }

/// What sums are multiplied with: one factor might overflow although the outputs do not.
struct SumFactors {
    float first, rest;
};
__device__ __forceinline__ SumFactors factors_of(int exponent) {
    const bool once = exponent >= -126 && exponent <= 127;
    return {power_of(once ? exponent : exponent / 2), once ? 1.0F : power_of(exponent - exponent / 2)};
}

/// A lane's outputs: rows g and g + 8 of pixels 8 p + 2 q and the next. Of one channel they go where they belong: `to` is the first
/// of them; of several to rows of all channels in shared memory.
template <class Shape, int kChannels>
__device__ __forceinline__ void pass_outputs(const ImageArguments& a, const HalvesMarch& g, float* to, float* staged,
                                             float (&sum)[2][4], float rest, int row, int pixel, bool whole) {
    if (rest != 1) {
#pragma unroll
        for (int i = 0; i < 8; ++i) { sum[i / 4][i % 4] *= rest; }
    }
    if constexpr (kChannels > 1) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            staged[i % 4 / 2 * 8 * Shape::kOutPitch + (i / 4 * 8 + i % 2) * kChannels] = sum[i / 4][i % 4];
        }
        return;
    }
    bool finite = true;
#pragma unroll
    for (int i = 0; i < 8; ++i) { finite = finite && fabsf(sum[i / 4][i % 4]) < INFINITY; }
    if (finite && whole) {
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
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        store_border<Shape>(a, g.segment_rows, row + i % 4 / 2 * 8, pixel + i / 4 * 8 + i % 2, sum[i / 4][i % 4]);
    }
}

/// A step of the march: 16 rows of the window are filtered along themselves, a warp 16 pixels. A product's sum is pixels x rows,
/// and lies in the lanes as the next product wants it: the last rows of sums in registers are filtered down into 16 rows of
/// outputs.
///
/// Floats are two halves each, three products make one. Meanwhile the next step's rows become halves, with the scale of the rows
/// before: where that does not fit, once more, and the rows in registers change to the new one.
template <int kSteps, int kChannels>
__global__ void __launch_bounds__(HalvesShape<kSteps, kChannels>::kThreads, HalvesShape<kSteps, kChannels>::kBlocks)
    march_halves(const __grid_constant__ ImageArguments a, const __grid_constant__ HalvesMarch g) {
    using Shape = HalvesShape<kSteps, kChannels>;
    extern __shared__ __align__(128) char shared[];
    static __shared__ Border border;
    static __shared__ unsigned largest;
    static __shared__ float rest;  // SumFactors, of which registers hold the first
    auto* const window = reinterpret_cast<float*>(shared);
    auto* const halves = reinterpret_cast<__half*>(window + kStages * Shape::kStage);
    float* const staged = window + kStages * Shape::kStage + Shape::kHalves;
    float* const taps = staged + 2 * Shape::kOut;
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int channel = thread / 32 % kChannels;
    const int pixel = thread / 32 / kChannels * 16;
    const int own_row = thread / Shape::kLanes;
    const int own_lane = thread % Shape::kLanes;

    const ImageTile tile = tile_of_block(a, g.segment_rows, Shape::kOutRow);
    const float* const in = static_cast<const float*>(a.in) + tile.image * a.in_image;
    const std::int64_t first_row = a.first + tile.y - a.origin_y - g.lead_rows;
    const std::int64_t first_element = tile.e - (a.origin_x + g.lead) * kChannels;
    const auto within = [](std::int64_t x, std::int64_t last) { return static_cast<int>(min(max(x, std::int64_t{0}), last)); };
    const int outputs = within(a.rows - tile.y, g.segment_rows);
    const int columns = within(a.out_elements - tile.e, Shape::kOutRow);
    const int steps = (outputs + kStepRows - 1) / kStepRows + kSteps - 1;
    Border values{
        in, first_row, first_element, Shape::kElements, Shape::kElements, 0, 0, reinterpret_cast<int*>(taps + 2 * kPaddedTaps)};
    if (g.vectors != 0) {
        values.left = (within(-first_element, Shape::kElements) + 3) / 4 * 4;
        values.right = max(values.left, within(a.row_elements - first_element, Shape::kElements) / 4 * 4);
    }
    values.begin = (within(a.in_first - first_row, kFar) + kStepRows - 1) / kStepRows;
    values.end = within(a.in_last - first_row, kFar) / kStepRows;
    for (int i = thread; i < kPaddedTaps; i += Shape::kThreads) {
        const int along = i - kTapLead - g.lead;
        const int down = i - kTapLead - g.lead_rows;
        taps[i] = along >= 0 && along < a.mask_width ? g.row[along] : 0.0F;
        taps[kPaddedTaps + i] = down >= 0 && down < a.mask_height ? g.column[down] : 0.0F;
    }
    unsigned exponent = kUsualExponent;
    float factor = factors_of(g.exponent - static_cast<int>(exponent)).first;
    if (thread == 0) {
        largest = 0;
        rest = factors_of(g.exponent - static_cast<int>(exponent)).rest;
    }
    const bool words = prepare_border<Shape>(a, border, values, window);

    constexpr int kTurns = (Shape::kElements / 4 + Shape::kLanes - 1) / Shape::kLanes;
    bool copies[kTurns];
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int i = 4 * (own_lane + Shape::kLanes * k);
        copies[k] = i >= values.left && i < values.right;
    }
    float* const own_row_of_window = window + own_row * Shape::kElements;
    const float* const own_pixels = own_row_of_window + 4 * kChannels * own_lane;
    __half* const own_halves = halves + own_row * Shape::kPitch + 4 * own_lane;
    const float* from = in + (first_row - a.in_first + own_row) * a.in_row + first_element + 4 * own_lane;
    int filled = 0;  // stages: where the next rows go, and which become halves
    const auto next = [](int stage) { return stage == (kStages - 1) * Shape::kStage ? 0 : stage + Shape::kStage; };
    const auto load = [&](int step) {
        if (step < steps) {
            float* const to = own_row_of_window + filled;
            if (step >= border.begin && step < border.end) {
#pragma unroll
                for (int k = 0; k < kTurns; ++k) {
                    if (copies[k]) { copy_16_async(to + 4 * (own_lane + Shape::kLanes * k), from + 4 * Shape::kLanes * k); }
                }
                if (words) { load_words<Shape>(to, from - 4 * own_lane - border.first_element, border); }
            } else {
                load_border<Shape>(a, border, to, step * kStepRows + own_row);
            }
            filled = next(filled);
            from += kStepRows * a.in_row;
        }
        commit_copies();
    };
    // Whether this thread's pixels of a step ask for a look at all of the block's: some do not fit, or none is large enough.
    const auto convert = [&](int step, int stage) {
        const float own = convert_row<Shape, kChannels>(own_halves + step % 2 * Shape::kHalves, own_pixels + stage,
                                                        __uint_as_float(exponent << 23));
        return !(own < kMostScaled) || (own > 0 && own < kLeastScaled);
    };
#pragma unroll 1
    for (int step = 0; step < kStages; ++step) { load(step); }
    TapFragments<kSteps> along;
    TapFragments<kSteps> down;
    auto* const fragments = reinterpret_cast<uint4*>(staged);  // until there are outputs
    static_assert(4 * 2 * kSteps * 64 <= 2 * Shape::kOut);
    prepare_taps<Shape, kSteps>(fragments, taps);
    wait_copies<kStages - 1>();
    __syncthreads();
    load_taps<kSteps>(along, fragments);
    load_taps<kSteps>(down, fragments + 64 * kSteps);
    bool look = convert(0, 0);

    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(halves + (2 * channel + lane / 16) * Shape::kPart +
                                                                        lane % 8 * Shape::kPitch + lane / 8 % 2 * 8 + pixel));
    float* const own_staged = staged + lane / 4 * Shape::kOutPitch + (pixel + lane % 4 * 2) * kChannels + channel;
    const std::int64_t first_out = tile.image * a.out_image + tile.y * a.out_row + tile.e;
    float* out = static_cast<float*>(a.out) + first_out;
    out += kChannels == 1 ? (lane / 4 - kStepRows * (kSteps - 1)) * a.out_row + pixel + lane % 4 * 2
                          : (own_row - kStepRows * kSteps) * a.out_row;
    const bool whole = pixel + 16 <= columns && a.common.converts == 0;
    const bool vectors = columns == Shape::kOutRow && g.out_vectors != 0 && a.common.converts == 0 && a.common.plain_store != 0;
    const auto store = [&](int step) {  // the outputs of the step before, of several channels
        const int row = (step - kSteps) * kStepRows + own_row;
        if (kChannels > 1 && step >= kSteps && row < outputs) {
            store_row<Shape>(a, g.segment_rows, out, staged + (step + 1) % 2 * Shape::kOut + own_row * Shape::kOutPitch, row,
                             columns, vectors);
        }
    };
    PassedRows passed[kSteps] = {};
    const float middle = power_of(g.middle);
    int used = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        wait_copies<kStages - 2>();
        if (__syncthreads_or(look ? 1 : 0) != 0) {
            unsigned held = 0;
#pragma unroll
            for (int s = 0; s + 1 < kSteps; ++s) {
                held = max(held, largest_of(passed[s], __uint_as_float((254 - exponent) << 23)));
            }
            const unsigned wanted = convert_again<Shape, kChannels>(&largest, own_halves + step % 2 * Shape::kHalves,
                                                                    own_pixels + used, held, exponent);
            if (wanted != exponent) {
                const float ratio = power_of(static_cast<int>(wanted) - static_cast<int>(exponent));
#pragma unroll
                for (int s = 0; s + 1 < kSteps; ++s) { rescale(passed[s], ratio); }
                exponent = wanted;
                const SumFactors factors = factors_of(g.exponent - static_cast<int>(exponent));
                factor = factors.first;
                if (thread == 0) { rest = factors.rest; }
                __syncthreads();
            }
        }
        load(step + kStages);
        store(step);
        used = next(used);
        look = convert(step + 1, used);  // after the last step: of what is there

        float sum[2][4] = {};
        filter_rows<Shape, kSteps>(sum, address + static_cast<unsigned>(step % 2 * Shape::kHalves * sizeof(__half)), along);
        pack_rows(passed[kSteps - 1], sum, middle);
        if (step >= kSteps - 1) {
            float to[2][4] = {};
            filter_columns<kSteps>(to, down, passed, factor);
            const int row = (step - kSteps + 1) * kStepRows;
            pass_outputs<Shape, kChannels>(a, g, out, own_staged + step % 2 * Shape::kOut, to, rest, row + lane / 4,
                                           pixel + lane % 4 * 2, whole && row + kStepRows <= outputs);
        }
        out += kStepRows * a.out_row;
#pragma unroll
        for (int s = 0; s + 1 < kSteps; ++s) { passed[s] = passed[s + 1]; }
    }
    __syncthreads();
    store(steps);
}

}  // namespace tapline::cuda::image_halves_rung
