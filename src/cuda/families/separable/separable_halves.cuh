// 05, masks of 18 to 113 rows or columns on tensor cores: factors are halves, of which a product takes twice as many taps as in
// TF32.
#pragma once

#include <type_traits>

#include "cuda/families/separable/separable_halves_rows.cuh"

namespace tapline::cuda::image_halves_rung {

/// A factor's taps as fragments (16 outputs x 16 places of the window), high and low halves. Place j has tap j - i for output i.
template <int kSteps>
struct TapFragments {
    unsigned high[kSteps][4], low[kSteps][4];

    __device__ __forceinline__ void take(unsigned (&to_high)[4], unsigned (&to_low)[4], int step) const {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            to_high[i] = high[step][i];
            to_low[i] = low[step][i];
        }
    }
};

/// The same of many taps, in shared memory: this lane's first fragment.
struct SharedFragments {
    const uint4* from;

    __device__ __forceinline__ void take(unsigned (&to_high)[4], unsigned (&to_low)[4], int step) const {
        const uint4 high = from[64 * step];
        const uint4 low = from[64 * step + 32];
        to_high[0] = high.x;
        to_high[1] = high.y;
        to_high[2] = high.z;
        to_high[3] = high.w;
        to_low[0] = low.x;
        to_low[1] = low.y;
        to_low[2] = low.z;
        to_low[3] = low.w;
    }
};

/// Fragments of both factors for load_taps(), by the whole block. taps: of each with zeros around them.
template <class Shape>
__device__ __forceinline__ void prepare_taps(uint4* to, const float* taps) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    taps += kTapLead + lane % 4 * 2 - lane / 4;
    for (int step = static_cast<int>(threadIdx.x) / 32; step < Shape::kRowSteps + Shape::kSteps; step += Shape::kThreads / 32) {
        const bool down = step >= Shape::kRowSteps;
        const float* const own = taps + (down ? Shape::kPaddedTaps + (step - Shape::kRowSteps) * 16 : step * 16);
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
__device__ __forceinline__ void load_taps(SharedFragments& taps, const uint4* from) { taps.from = from + threadIdx.x % 32; }

/// Steps whose products go to one sum: a tensor core cuts off what it adds to a larger one, so that long sums are made in two.
constexpr int kChain = 4;

/// to += from, which begins anew.
__device__ __forceinline__ void add_up(float (&to)[2][4], float (&from)[2][4]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        to[i / 4][i % 4] += from[i / 4][i % 4];
        from[i / 4][i % 4] = 0;
    }
}

/// A step's rows filtered along themselves: sum[h] has pixel g of rows 8 h + 2 q and the next, then pixel g + 8. window: this
/// lane's address for rows of halves as fragments. Corrections have sums of their own.
template <class Shape, class Taps>
__device__ __forceinline__ void filter_rows(float (&sum)[2][4], unsigned window, const Taps& taps) {
    float first[2][4] = {};
    float rest[2][4] = {};
#pragma unroll
    for (int s = 0; s < Shape::kRowSteps; ++s) {
        unsigned high[4];
        unsigned low[4];
        taps.take(high, low, s);
        if (s == kChain) { add_up(first, sum); }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            unsigned x[4];  // two words of high halves, two of low ones
            tensor::load_fragment(x, window + static_cast<unsigned>(sizeof(__half)) * (8 * h * Shape::kPitch + 16 * s));
            tensor::multiply(rest[h], high, uint2{x[2], x[3]});
            tensor::multiply(sum[h], high, uint2{x[0], x[1]});
            if (Shape::kProducts > 2 && Shape::kRowSteps > 1) { tensor::multiply(rest[h], low, uint2{x[0], x[1]}); }
        }
    }
    if (Shape::kRowSteps > kChain) { add_up(rest, first); }
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

/// The same of all but the last ones.
template <int kSteps>
__device__ __forceinline__ void rescale_all(PassedRows (&passed)[kSteps], float ratio) {
#pragma unroll
    for (int s = 0; s + 1 < kSteps; ++s) { rescale(passed[s], ratio); }
}

/// out[p] += the rows of all steps times the column's taps: rows g and g + 8 of pixels 8 p + 2 q and the next. Corrections have
/// sums of their own, as along rows.
template <class Shape, class Taps>
__device__ __forceinline__ void filter_columns(float (&out)[2][4], const Taps& taps, const PassedRows (&rows)[Shape::kSteps],
                                               float scale) {
    float first[2][4] = {};
    float rest[2][4] = {};
#pragma unroll
    for (int s = 0; s < Shape::kSteps; ++s) {
        unsigned high_taps[4];
        unsigned low_taps[4];
        taps.take(high_taps, low_taps, s);
        if (s == kChain) { add_up(first, out); }
#pragma unroll
        for (int p = 0; p < 2; ++p) {
            const uint2 high = {rows[s].high[2 * p], rows[s].high[2 * p + 1]};
            tensor::multiply(rest[p], high_taps, uint2{rows[s].low[2 * p], rows[s].low[2 * p + 1]});
            tensor::multiply(out[p], high_taps, high);
            if (Shape::kProducts > 2) { tensor::multiply(rest[p], low_taps, high); }
        }
    }
    if (Shape::kSteps > kChain) { add_up(rest, first); }
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

/// A flag in a register: what it was made of need not be kept, nor looked at again.
__device__ __forceinline__ bool in_register(bool flag) {
    int value = flag ? 1 : 0;
    asm volatile("" : "+r"(value));
    return value != 0;
}

/// Before the first step: the taps in shared memory, those along rows, then those down, and what threads tell each other.
template <class Shape>
__device__ __forceinline__ void prepare_march(const ImageArguments& a, const HalvesMarch& g, Shared& common, float* taps,
                                              int thread) {
    for (int i = thread; i < Shape::kPaddedTaps; i += Shape::kThreads) {
        const int along = i - kTapLead - g.lead;
        const int down = i - kTapLead - g.lead_rows;
        taps[i] = along >= 0 && along < a.mask_width ? g.row[along] : 0.0F;
        taps[Shape::kPaddedTaps + i] = down >= 0 && down < a.mask_height ? g.column[down] : 0.0F;
    }
    if (thread == 0) {
        common.looks[0] = 0;
        common.looks[1] = 0;
        common.largest = 0;
        initialize(&common.ready, Shape::kThreads);
    }
}

/// Which of a thread's vectors of a row are copied as they are.
template <class Shape, int kTurns>
__device__ __forceinline__ void mark_copies(bool (&copies)[kTurns], const Border& values, int own_lane) {
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int i = 4 * (own_lane + Shape::kLanes * k);
        copies[k] = i >= values.left && i < values.right;
    }
}

/// A thread's sums to where outputs of a step are staged.
template <class Shape, int kChannels>
__device__ __forceinline__ void stage_sums(float* to, const float (&sum)[2][4]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) { to[i % 4 / 2 * 8 * Shape::kOutPitch + (i / 4 * 8 + i % 2) * kChannels] = sum[i / 4][i % 4]; }
}

/// Eight staged outputs of a thread's row.
template <class Shape, int kChannels>
__device__ __forceinline__ void store_staged_vectors(float* out, const float* from) {
    static_assert(kChannels == 1 || Shape::kOutRow == 8 * Shape::kLanes);
    const float4 u = *reinterpret_cast<const float4*>(from);
    const float4 v = *reinterpret_cast<const float4*>(from + 4 * Shape::kLanes);
    __stcs(reinterpret_cast<float4*>(out), u);
    __stcs(reinterpret_cast<float4*>(out + 4 * Shape::kLanes), v);
}

/// A thread's sums, outputs of `row` and `pixel` on, one by one; `rest`: of their scale.
template <class Shape>
__device__ __forceinline__ void store_sums_at_border(const ImageArguments& a, int segment_rows, int row, int pixel,
                                                     const float (&sum)[2][4], float rest) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        store_border<Shape>(a, segment_rows, row + i % 4 / 2 * 8, pixel + i / 4 * 8 + i % 2, sum[i / 4][i % 4] * rest);
    }
}

/// A step of the march: 16 rows of the window are filtered along themselves, a warp 16 pixels. A product's sum is pixels x rows,
/// and lies in the lanes as the next product wants it: the last rows of sums in registers are filtered down into 16 rows of
/// outputs.
///
/// Floats are two halves each, three products make one. Warps meet once a step, but need not stand still there: each arrives when
/// it has made the next step's rows halves, and then filters this step's. What is independent is done together: rows in registers
/// are filtered down a step later, while the next step's become halves.
///
/// Those have the scale of the rows before: where that does not fit, once more, and the rows in registers change to the new one.
/// What is rare is done in functions, and taps are loaded again after it: across a call few registers are kept.
template <int kSteps, int kChannels, int kProducts, int kRowSteps>
__global__ void __launch_bounds__(HalvesShape<kSteps, kChannels>::kThreads, HalvesShape<kSteps, kChannels>::kBlocks)
    march_halves(const __grid_constant__ ImageArguments a, const __grid_constant__ HalvesMarch g) {
    using Shape = HalvesShape<kSteps, kChannels, kProducts, kRowSteps>;
    constexpr int kStages = Shape::kStages;
    constexpr int kHalfBuffers = Shape::kHalfBuffers;
    extern __shared__ __align__(128) char shared[];
    Shared& common = *reinterpret_cast<Shared*>(shared);
    auto* const window = reinterpret_cast<float*>(shared + kSharedBytes);
    auto* const halves = reinterpret_cast<__half*>(window + kStages * Shape::kStage);
    float* const staged = window + kStages * Shape::kStage + kHalfBuffers * Shape::kHalves / 2;
    auto* const fragments = reinterpret_cast<uint4*>(staged + 2 * Shape::kOut);
    float* const taps = staged + 2 * Shape::kOut + Shape::kFragments;
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
        in, first_row, first_element, Shape::kElements, Shape::kElements, reinterpret_cast<int*>(taps + 2 * Shape::kPaddedTaps)};
    if (g.vectors != 0) {
        values.left = (within(-first_element, Shape::kElements) + 3) / 4 * 4;
        values.right = max(values.left, within(a.row_elements - first_element, Shape::kElements) / 4 * 4);
    }
    prepare_march<Shape>(a, g, common, taps, thread);
    const bool words = prepare_border<Shape>(a, common.border, values, window);

    constexpr int kTurns = (Shape::kElements / 4 + Shape::kLanes - 1) / Shape::kLanes;
    bool copies[kTurns];
    mark_copies<Shape>(copies, values, own_lane);
    // Steps [begin, begin + inner) have all their rows in the piece.
    int begin = (within(a.in_first - first_row, kFar) + kStepRows - 1) / kStepRows;
    int inner = max(min(within(a.in_last - first_row, kFar) / kStepRows, steps) - begin, 0);
    asm volatile("" : "+r"(begin), "+r"(inner));
    const auto is_inner = [&](int step) { return static_cast<unsigned>(step - begin) < static_cast<unsigned>(inner); };
    const float* from = in + (first_row - a.in_first + own_row) * a.in_row + first_element + 4 * own_lane;
    float* const own_window = window + own_row * Shape::kElements + 4 * own_lane;
    const auto load = [&](int step) {
        if (is_inner(step)) {
            float* const to = own_window + step % kStages * Shape::kStage;
#pragma unroll
            for (int k = 0; k < kTurns; ++k) {
                if (copies[k]) { copy_16_async(to + 4 * Shape::kLanes * k, from + 4 * Shape::kLanes * k); }
            }
            if (words) {
                load_words<Shape>(to - 4 * own_lane, from - 4 * own_lane - common.border.first_element, common.border, true);
            }
        }
        from = reinterpret_cast<const float*>(reinterpret_cast<const char*>(from) + g.in_step);
        commit_copies();
    };
    const float* const own_pixels = window + own_row * Shape::kElements + 4 * kChannels * own_lane;
    __half* const own_halves = halves + own_row * Shape::kPitch + 4 * own_lane;
    unsigned exponent = kUsualExponent;  // of the scale of rows that become halves
    const auto convert = [&](int step) {
        const float scale = __uint_as_float(exponent << 23);
        const float own = convert_row<Shape, kChannels>(own_halves + step % kHalfBuffers * Shape::kHalves,
                                                        own_pixels + step % kStages * Shape::kStage, scale);
        // Some of this thread's pixels do not fit, or none is large enough (with the scale of far larger ones they become zero):
        // the whole block's are looked at.
        if (!(own * scale < kMostScaled) || (own > 0 && own * scale < kLeastScaled)) { common.looks[step % 2] = 1; }
    };
#pragma unroll 1
    for (int step = 0; step < kStages; ++step) {
        if (!is_inner(step) && step < steps) { load_border<Shape>(a, common.border, window, step); }
        load(step);
    }
    using Taps = std::conditional_t<Shape::kFew, TapFragments<kSteps>, SharedFragments>;
    Taps along;
    Taps down;
    const auto load_both = [&] {
        load_taps(along, fragments);
        load_taps(down, fragments + 64 * kRowSteps);
    };
    prepare_taps<Shape>(fragments, taps);
    wait_copies<kStages - 2>();
    __syncthreads();
    load_both();
    convert(0);
    arrive(&common.ready);

    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(halves + (2 * channel + lane / 16) * Shape::kPart +
                                                                        lane % 8 * Shape::kPitch + lane / 8 % 2 * 8 + pixel));
    float* const own_staged = staged + lane / 4 * Shape::kOutPitch + (pixel + lane % 4 * 2) * kChannels + channel;
    const float* const own_outputs = staged + own_row * Shape::kOutPitch + 4 * own_lane;
    float* out = static_cast<float*>(a.out) + tile.image * a.out_image + tile.y * a.out_row + tile.e;
    out += kChannels == 1 ? (lane / 4 - kStepRows * kSteps) * a.out_row + pixel + lane % 4 * 2
                          : (own_row - kStepRows * (kSteps + 1)) * a.out_row + 4 * own_lane;
    int left = columns - pixel;  // of the warp's pixels
    asm volatile("" : "+r"(left));
    const bool vectors = in_register(columns == Shape::kOutRow && g.out_vectors != 0 && a.common.plain_store != 0);
    // Outputs of steps up to `checked` may not be finite, or must be multiplied once more, or converted.
    const auto checked_until = [&](int step) {
        const int sums = g.exponent - static_cast<int>(exponent);
        return a.common.converts != 0 || sums < -126 || sums > 127 ? static_cast<int>(kFar) : step;
    };
    int checked = checked_until(-1);
    unsigned passed_exponent = exponent, staged_exponent = exponent;  // of rows in registers, of those that staged outputs are of
    float factor = factors_of(g.exponent - static_cast<int>(exponent)).first;
    const auto rest_of = [&](unsigned scale) { return factors_of(g.exponent - static_cast<int>(scale)).rest; };
    const auto store = [&](int step) {                              // what was staged in the step before
        const int row = (step - kSteps - 1) * kStepRows + own_row;  // of the block, negative before there are any
        if (static_cast<unsigned>(row) < static_cast<unsigned>(outputs)) {
            const float* const from = own_outputs + (step + 1) % 2 * Shape::kOut;
            if (vectors) {
                store_staged_vectors<Shape, kChannels>(out, from);
            } else {
                store_elements<Shape>(a, out - 4 * own_lane, from - 4 * own_lane, columns);
            }
        }
    };
    const auto store_staged = [&](int step) {
        store_checked<Shape>(a, g.segment_rows, staged, step, columns, rest_of(staged_exponent));
    };
    const auto stage = [&](int step, const float(&sum)[2][4]) {
        stage_sums<Shape, kChannels>(own_staged + step % 2 * Shape::kOut, sum);
    };
    const auto store_one_channel = [&](int step, float(&sum)[2][4]) {
        const int row = (step - kSteps) * kStepRows;
        if (left <= 0) { return; }
        if (row + kStepRows <= outputs && step > checked) {
            return left >= 16 ? store_outputs(a, g, out, sum) : store_some(a, out, sum, left);
        }
        store_sums_at_border<Shape>(a, g.segment_rows, row + lane / 4, pixel + lane % 4 * 2, sum, rest_of(passed_exponent));
        load_both();
    };
    const auto next_outputs = [&] { out = reinterpret_cast<float*>(reinterpret_cast<char*>(out) + g.out_step); };
    PassedRows passed[kSteps] = {};
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        wait(&common.ready, step % 2);
        const bool look = common.looks[step % 2] != 0;
        const bool outside = !is_inner(step + kStages) && step + kStages < steps;
        if (look || outside || (kChannels > 1 && step <= checked)) {
            if (look) {
                unsigned held = 0;
#pragma unroll
                for (int s = 1; s < kSteps; ++s) {
                    held = max(held, largest_of(passed[s], __uint_as_float((254 - exponent) << 23)));
                }
                exponent = convert_again<Shape, kChannels>(common, halves, window, step, held, exponent);
                checked = checked_until(step + kSteps + 1);
            }
            if (outside) { load_border<Shape>(a, common.border, window, step + kStages); }
            if (kChannels > 1 && step > kSteps && step <= checked) { store_staged(step); }
            load_both();
        }
        load(step + kStages);
        if (kChannels > 1 && step > checked) { store(step); }
        float to[2][4] = {};
        filter_columns<Shape>(to, down, passed, factor);  // of the step before
        convert(step + 1);                                // after the last step: of what is there
        if constexpr (kChannels > 1) {
            stage(step, to);
            staged_exponent = passed_exponent;
        }
        wait_copies<kStages - 2>();
        arrive(&common.ready);
        if (kChannels == 1 && step >= kSteps) { store_one_channel(step, to); }
        next_outputs();

        float sum[2][4] = {};
        filter_rows<Shape>(sum, address + static_cast<unsigned>(step % kHalfBuffers * Shape::kHalves * sizeof(__half)), along);
#pragma unroll
        for (int s = 0; s + 1 < kSteps; ++s) { passed[s] = passed[s + 1]; }
        pack_rows(passed[kSteps - 1], sum, g.middle);
        if (exponent != passed_exponent) {
            rescale_all(passed, power_of(static_cast<int>(exponent) - static_cast<int>(passed_exponent)));
            passed_exponent = exponent;
            factor = factors_of(g.exponent - static_cast<int>(exponent)).first;
        }
    }
    float to[2][4] = {};
    filter_columns<Shape>(to, down, passed, factor);
    if constexpr (kChannels == 1) {
        store_one_channel(steps, to);
    } else {
        __syncthreads();
        stage(steps, to);
        __syncthreads();
        for (int step = steps; step <= steps + 1; ++step) {
            if (step > checked) {
                store(step);
            } else if (step > kSteps) {
                store_staged(step);
            }
            staged_exponent = passed_exponent;
            next_outputs();
        }
    }
}

}  // namespace tapline::cuda::image_halves_rung
