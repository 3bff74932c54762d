// Rung 27's way for rows no longer than 4,096 samples with filters as long: one segment of half zeros, 64 points a thread.
#pragma once

#include "cuda/families/overlap_save/overlap_save_outputs.cuh"
#include "cuda/families/overlap_save/overlap_save_samples.cuh"
#include "cuda/families/overlap_save/row/overlap_save_row.hpp"
#include "cuda/primitives/segment.cuh"
#include "cuda/primitives/transform_by_table.cuh"

namespace tapline::cuda::overlap_save {

template <int kCount>
__device__ __forceinline__ void finish_outputs(const Arguments& a, float* y) {
    const float scale = static_cast<float>(a.scale);
    const float bias = static_cast<float>(a.bias);
    const float low = a.has_clamp ? static_cast<float>(a.low) : -INFINITY;
    const float high = a.has_clamp ? static_cast<float>(a.high) : INFINITY;
#pragma unroll
    for (int i = 0; i < kCount; ++i) { y[i] = clamp_pass_nan(y[i] * scale + bias, low, high); }
}

/// Outputs `mine` + kStep m, m < kCount, of a row's kPoints: in register m, or in reversed(m). kWhole: all of them, as they are.
template <class S, int kPoints, int kCount, int kStep, bool kReversed, bool kWhole>
struct RowOutputs {
    const Arguments& a;
    const Segments& g;
    std::int64_t row;
    int mine;

    __device__ __forceinline__ void store(float* y) const {
        // Every output depends on every sample, so that one tells of all.
        const bool repair = __any_sync(0xffffffffu, !(fabsf(y[0]) <= Limits<float>::kMost));
        if (!kWhole && a.plain_store == 0) { finish_outputs<kCount>(a, y); }
        S* out = static_cast<S*>(a.out) + row * a.out_row + mine - a.first;
        int n = mine;
        hide(out, n);
        const auto store_if = [&](const auto& exists) {
            fft::for_each_index<0, kCount>([&](auto output) {
                constexpr int m = decltype(output)::value;
                constexpr int kHeld = kReversed ? fft::reversed(m, fft::log2_of(kCount)) : m;
                if (exists(n + kStep * m)) { store_past(out + kStep * m, Element<S>::narrow(y[kHeld])); }
            });
        };
        if (kWhole || (a.first == 0 && a.count == kPoints)) {
            store_if([](int) { return true; });
        } else {
            const int first = static_cast<int>(a.first);
            const int end = first + static_cast<int>(a.count);
            store_if([&](int at) { return at >= first && at < end; });
        }
        if (repair) { store_directly(a, g, row, mine); }
    }

private:
    // Of no object, which would be put into local memory for the call, whether it comes to that or not.
    static __device__ __noinline__ void store_directly(const Arguments& a, const Segments& g, std::int64_t row, int mine) {
        S* const out = static_cast<S*>(a.out) + row * a.out_row;
        for (int m = 0; m < kCount; ++m) {
            const std::int64_t o = mine + kStep * m - a.first;
            if (o >= 0 && o < a.count) { out[o] = Element<S>::narrow(finish(a, direct_sum<S, float>(a, g, row, o))); }
        }
    }
};

/// A row's M = kSide^2 points by kSide threads, 4,096 by two warps or 1,024 by one. Point n is sample n, a real number: the other
/// half of the segment lies outside the signal, and of what comes back only real parts are outputs. So the first step and the last
/// take half as much.
///
/// With kSide = 64, thread t has points t + 64 r and transforms them over r; all are exchanged; thread p then has the coefficients
/// of X^t, t < 64, of a remainder modulo X^64 - e^(i (pi/2 + 2 pi p)/64), whose values are frequencies p + 64 q. They are
/// multiplied by the spectrum and go back as conjugates, so that all angles are positive: over q, exchanged, over p.
///
/// With 32 points a thread (overlap_save_kernel) they would pass through shared memory four times, not two: (64, 768, 4096) bf16
/// 1,144 us instead of 845.
///
/// kWhole: rows and outputs of kPoints, copied and stored as they are. Code for the others would stand between what warps go
/// through and is more than they can fetch in time: 777 us instead of 756.
template <class S, class Shape, bool kWhole>
__global__ void __launch_bounds__(Shape::kSide* Shape::kMostRows, 1)
    overlap_save_row_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Segments g) {
    constexpr int kSide = Shape::kSide;
    constexpr int kBits = fft::log2_of(kSide);
    constexpr int kHalf = kSide / 2;
    constexpr float kRoot = static_cast<float>(std::numbers::sqrt2 / 2);
    const int in_block = static_cast<int>(threadIdx.x) / kSide;
    const int thread = static_cast<int>(threadIdx.x) % kSide;
    const auto sync = [&] { sync_segment<kSide / 32>(in_block); };

    extern __shared__ uint4 shared[];
    float2* const table = reinterpret_cast<float2*>(shared);
    float2* const points = table + Shape::kTable + in_block * Shape::kBuffer;
    // In a place that no exchange uses.
    CopyBarrier* const barrier = reinterpret_cast<CopyBarrier*>(points + Shape::kBuffer - 1);
    if (thread == 0) { initialize(barrier); }
    const auto* tables = static_cast<const float2*>(g.tables);
    copy_by_block(table, tables, Shape::kTable);
    __syncthreads();
    const auto* all_spectra = reinterpret_cast<const float4*>(tables + Shape::kTable) + thread;
    const float2* const there = table + 2 * thread;
    const float2* const back = there + Shape::kPairsThere;
    const float4* const last = reinterpret_cast<const float4*>(table + Shape::kPairsThere + Shape::kPairsBack) + thread;

    const bool copies = kWhole || g.zero_edges != 0;
    const auto copy = [&](const SegmentInRun& place) {
        if (copies && thread == 0 && place.exists(a.rows)) {
            copy_bulk(points, static_cast<const S*>(a.in) + place.row * a.in_row,
                      static_cast<std::uint32_t>(a.in_last) * static_cast<std::uint32_t>(sizeof(S)), barrier);
        }
    };
    // The rows of a block's groups are neighbours, so that one spectrum in the first-level cache serves all.
    SegmentInRun place = SegmentInRun::first(g, a.rows, blockIdx.x);
    const std::int64_t each = a.rows / g.filters;
    const std::int64_t more = a.rows - each * g.filters;  // filters that have a row more
    const auto advance = [&](int rows) {
        place.left -= rows;
        place.row += rows * g.filters;
        while (place.left > 0 && place.row >= a.rows) {
            place.row += 1 - (each + (place.column < more ? 1 : 0)) * g.filters;
            ++place.column;
        }
    };
    advance(in_block);
    copy(place);
    std::uint32_t phase = 0;
    while (place.exists(a.rows)) {
        const float4* const spectrum = all_spectra + place.filter(g) * (Shape::kPoints / 2);
        const std::int64_t row = place.row;
        float re[kSide];
        float im[kSide];
        const auto read = [&](const auto& sample_of) {
#pragma unroll
            for (int r = 0; r < kSide; ++r) { re[r] = sample_of(kSide * r); }
        };
        if (copies) {
            wait(barrier, phase);
            phase ^= 1;
            const S* const samples = reinterpret_cast<const S*>(points) + thread;
            if (kWhole || a.in_last == Shape::kPoints) {
                read([&](int n) { return Element<S>::widen(samples[n]); });
            } else {
                const int end = static_cast<int>(a.in_last) - thread;
                read([&](int n) { return n < end ? Element<S>::widen(samples[n]) : 0.0F; });
            }
        } else {
            const S* const samples = static_cast<const S*>(a.in) + row * a.in_row - a.in_first + thread;
            read([&](int n) { return thread + n >= a.in_first && thread + n < a.in_last ? Element<S>::widen(samples[n]) : 0.0F; });
        }
        take_two_steps<kSide>(re, im);
        // What is transformed next comes in the order in which it is taken, after the transform's first factors.
        const auto exchange = [&](const float2* factors) {
            sync();
            fft::for_each_index<0, kHalf>([&](auto pair) {
                constexpr int i = 2 * decltype(pair)::value;
                constexpr int kFirst = fft::reversed(i, kBits);
                constexpr int kSecond = fft::reversed(i + 1, kBits);
                reinterpret_cast<float4*>(points + thread * Shape::kPitch)[i / 2] =
                    float4{re[kFirst], im[kFirst], re[kSecond], im[kSecond]};
            });
            sync();
            const FirstFactors<kSide> first(factors);
#pragma unroll
            for (int n = 0; n < kSide; ++n) {
                const int i = taken_at<kSide>(n);
                const float2 point = load_in_order(points + i * Shape::kPitch + thread);
                re[i] = point.x;
                im[i] = point.y;
            }
            return first;
        };
        fft::transform_in_fours<kSide, 1, 2, 2>(re, im);
        exchange(there).template transform<kSide, kBits>(re, im, there);
        float x[kSide];
        float y[kSide];
        multiply_and_step<kSide>(x, y, re, im, [&](int pair) { return __ldg(spectrum + kSide * pair); });
#pragma unroll
        for (int i = 0; i < kSide; ++i) {
            re[i] = x[i];
            im[i] = y[i];
        }
        finish_back<kSide>(re, im);
        const FirstFactors<kSide> first = exchange(back);
        fence_before_copy();
        sync();
        advance(static_cast<int>(blockDim.x) / kSide);
        copy(place);
        first.template transform<kSide, kBits - 1>(re, im, back);
        // The last step and the turn back, u = e^(i pi n/2M) (a + e^(4 i pi n/2M) b), real parts only; with n + M/2 the sign of b
        // changes and u turns by e^(i pi/4).
        fft::for_each_index<0, kHalf>([&](auto value) {
            constexpr int m = decltype(value)::value;
            const float4 w = last[kSide * fft::reversed(m, kBits - 1)];
            const float a_re = re[2 * m] - w.y * im[2 * m];
            const float a_im = im[2 * m] + w.y * re[2 * m];
            const float b_re = re[2 * m + 1] * w.z - im[2 * m + 1] * w.w;
            const float b_im = re[2 * m + 1] * w.w + im[2 * m + 1] * w.z;
            re[2 * m] = w.x * a_re + b_re;
            re[2 * m + 1] = kRoot * (w.x * (a_re - a_im) - (b_re - b_im));
        });
        const RowOutputs<S, Shape::kPoints, kSide, kSide, true, kWhole> outputs{a, g, row, thread};
        outputs.store(re);
    }
}

}  // namespace tapline::cuda::overlap_save
