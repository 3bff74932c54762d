// 47: rows of up to 128 samples under one filter of any length: all of them are one product of matrices.
#pragma once

#include "cuda/families/tensor/short/short_rows_entries.cuh"
#include "cuda/families/tensor/short/short_rows_places.cuh"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/epilogue.cuh"

namespace tapline::cuda::short_rows {

/// Four floats of a row from place `at` of its `size` on, the first for this one of the four threads that have it; `step` from one
/// to the next, 1 by vectors.
__device__ __forceinline__ float4 load_four(const float* row, int step, int at, int size, bool by_vectors, int thread) {
    if (by_vectors) {
        return at + 4 * thread < size ? *reinterpret_cast<const float4*>(row + at + 4 * thread) : float4{0, 0, 0, 0};
    }
    float x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) { x[i] = at + 4 * i + thread < size ? row[(at + 4 * i + thread) * step] : 0; }
    return float4{x[0], x[1], x[2], x[3]};
}
__device__ __forceinline__ void store_four(float* row, int step, int at, int size, bool by_vectors, int thread, const float4& x) {
    if (by_vectors) {
        if (at + 4 * thread < size) { *reinterpret_cast<float4*>(row + at + 4 * thread) = x; }
        return;
    }
    const float each[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (at + 4 * i + thread < size) { row[(at + 4 * i + thread) * step] = each[i]; }
    }
}

/// The outputs of a row that is not finite, or all where a tap is none: sums of products as they stand, so that NaN and infinity
/// reach the outputs whose window holds them. By a warp.
__device__ __noinline__ inline void sum_as_they_stand(const Arguments& a, const Shape& g, const float* in, std::int64_t in_step,
                                                      float* out, std::int64_t out_step, int lane) {
    const auto* const taps = static_cast<const float*>(a.taps);
    const std::int64_t length = a.in_last - a.in_first;
#pragma unroll 1
    for (int o = lane; o < g.outputs; o += 32) {
        const std::int64_t first = a.first + o - a.origin - a.in_first;
        const TapRange met = taps_met(a, first);
        float sum = 0;
#pragma unroll 1
        for (std::int64_t t = met.begin; t < met.end; ++t) {
            std::int64_t at = first + t;
            if (at < 0 || at >= length) { at = near_boundary_index(a.boundary, a.in_first + at, a.n) - a.in_first; }
            if (at >= 0 && at < length) { sum = fmaf(in[at * in_step], taps[t], sum); }
        }
        out[o * out_step] = finish(a, sum);
    }
}

/// Outputs (rows x outputs) = samples (rows x samples) times T, with T[i][j] the taps of output j that meet sample i: whatever the
/// boundary repeats is in T, and a filter of any length is no larger than this. A warpgroup multiplies 64 rows at a time: their
/// samples come from memory to registers, each row is scaled by its largest, becomes two halves a sample and is multiplied by T in
/// shared memory in three products. Sums go from registers to memory. Nothing waits for other warpgroups.
///
/// Rows one after the other come and go as a whole: 64 of them by a copy in bulk to one of the warpgroup's two buffers, while it
/// multiplies those in the other; outputs take their samples' place. 10^6 rows of 100, whose quarters of 64 bytes begin between
/// sectors of the memory, straight from there and back 559 us, of 128 420.
///
/// kApart: rows lie side by side. What differs is where a row's samples are, in memory and in the buffer.
template <int kChunks, bool kApart>
__global__ void __launch_bounds__(threads(kChunks), 1)
    short_rows_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Shape g) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr int kSteps = 2 * kChunks;
    constexpr int kLowEntries = kChunks * kChunks * kPieceBytes;
    extern __shared__ __align__(128) char shared[];
    char* const entries = shared + kHeaderBytes;
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int of_row = lane % 4;  // which of a row's four threads
    if (thread == 0) {
        for (int i = 0; i < kBuffers * groups(kChunks); ++i) {
            initialize(reinterpret_cast<CopyBarrier*>(shared + kBarriersAt) + i);
        }
        fence_before_copy();
    }
    const int tap_exponent = store_entries<kChunks>(entries, shared, a, g, thread);
    fence_for_warpgroup();
    __syncthreads();
    // Read and written through the same pointers, wherever they are.
#if defined(__CUDA_ARCH__)
    const bool in_bulk = g.buffer_bytes != 0;
#else
    const bool in_bulk = false;
#endif
    const int group = thread / tensor::kThreads;
    const bool moves = thread % tensor::kThreads == 0;  // tiles in bulk
    const bool by_threads = kApart && g.apart.channel_tiles != 1;
    auto* const arrived = reinterpret_cast<CopyBarrier*>(shared + kBarriersAt) + kBuffers * group;
    char* const buffers = entries + 2 * kLowEntries + kBuffers * group * g.buffer_bytes;
    const auto start_copies = [&](std::int64_t of, int buffer) {
        if (!in_bulk || !(moves || by_threads)) { return; }
        auto* const to = reinterpret_cast<float*>(buffers + buffer * g.buffer_bytes);
        const TilePlace next = tile_place<kApart>(a, g, of);
        const bool comes = of < g.tiles && next.is_whole;
        if (kApart && by_threads) {
            if (comes) { bring_channels(to, a, g, next, thread % tensor::kThreads); }
            commit_copies();
        } else if (comes) {
            bring_tile<kApart>(to, a, g, next, arrived + buffer);
        }
    };
    const std::uint64_t matrix = matrix_of_cores(__shfl_sync(0xffffffffU, shared_address(entries), 0), 512, 128);

    // Neighbouring tiles at a time, whichever multiprocessors have them.
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / tensor::kThreads);
    std::int64_t tile = static_cast<std::int64_t>(group) * gridDim.x + blockIdx.x;
    start_copies(tile, 0);
    int buffer = 0;
    std::uint32_t phase = 0;
#pragma unroll 1
    for (; tile < g.tiles; tile += step) {
        const int row_in_tile = thread % tensor::kThreads / 32 * 16;
        const TilePlace place = tile_place<kApart>(a, g, tile);
        const bool whole = in_bulk && place.is_whole;
        auto* const held = reinterpret_cast<float*>(buffers + buffer * g.buffer_bytes);
        if (whole) {
            // The other buffer's outputs have been read, which were the last to be stored.
            if (by_threads) { wait_for_warpgroup(group); }
            if (moves) { wait_stores_read(); }
            start_copies(tile + step, 1 - buffer);
            if (by_threads) {
                wait_copies<1>();
                wait_for_warpgroup(group);
            } else {
                wait(arrived + buffer, phase);
            }
        }
        const Steps<kApart> steps(g, place, whole);
        const float* const in = whole ? held + (kApart ? g.apart.in_front : 0) : static_cast<const float*>(a.in) + place.in;
        float* const out = whole ? held : static_cast<float*>(a.out) + place.out;
        const RowPlace own[2] = {row_place<kApart>(g, row_in_tile + lane / 4), row_place<kApart>(g, row_in_tile + lane / 4 + 8)};
        const auto exists = [&](int h) { return own[h].recording < place.recordings && own[h].channel < place.channels; };
        const int sizes[2] = {exists(0) ? g.samples : 0, exists(1) ? g.samples : 0};
        const float* from[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) { from[h] = in + in_place<kApart>(a, g, own[h]) + steps.front; }
        float4 x[kSteps][2];
        if (!kApart && g.in_vectors != 0) {
#pragma unroll
            for (int s = 0; s < kSteps; ++s) {
#pragma unroll
                for (int h = 0; h < 2; ++h) { x[s][h] = load_four(from[h], steps.in, 16 * s, sizes[h], true, of_row); }
            }
        } else {
#pragma unroll
            for (int s = 0; s < kSteps; ++s) {
#pragma unroll
                for (int h = 0; h < 2; ++h) { x[s][h] = load_four(from[h], steps.in, 16 * s, sizes[h], false, of_row); }
            }
        }

        if (whole) { wait_for_warpgroup(group); }  // all have read the samples

        int exponents[2];
        float scales[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float largest = 0;
#pragma unroll
            for (int s = 0; s < kSteps; ++s) {
                largest = tensor::max_or_nan(tensor::max_or_nan(largest, x[s][h].x), x[s][h].y);
                largest = tensor::max_or_nan(tensor::max_or_nan(largest, x[s][h].z), x[s][h].w);
            }
            unsigned bits = __float_as_uint(largest) & 0x7fffffffU;
            bits = max(bits, __shfl_xor_sync(0xffffffffU, bits, 1));
            bits = max(bits, __shfl_xor_sync(0xffffffffU, bits, 2));
            const int exponent = static_cast<int>(bits >> 23) - 127;
            exponents[h] = exponent == 128 || tap_exponent == tensor::kNotFinite ? tensor::kNotFinite
                                                                                 : max(exponent, tensor::kTopExponent - 127);
            scales[h] = tensor::power_of_two(tensor::kTopExponent - exponents[h]);
        }
        unsigned high[kChunks][8];
        unsigned low[kChunks][8];
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int i = s % 2 * 4 + h;
                tensor::split(x[s][h].x * scales[h], x[s][h].y * scales[h], high[s / 2][i], low[s / 2][i]);
                tensor::split(x[s][h].z * scales[h], x[s][h].w * scales[h], high[s / 2][i + 2], low[s / 2][i + 2]);
            }
        }

        float sum[kChunks][4][4];
        begin_warpgroup_products();
        for_turns<0, kChunks>([&](auto piece) {
            constexpr int p = decltype(piece)::value;
            // The small products first: a tensor core cuts off what it adds to a large sum.
            for_turns<0, 3 * kSteps>([&](auto turn) {
                constexpr int kPass = decltype(turn)::value / kSteps;
                constexpr int s = decltype(turn)::value % kSteps;
                multiply_rows<__half, decltype(turn)::value == 0, s % 2 * 4>(
                    sum[p], kPass == 0 ? low[s / 2] : high[s / 2],
                    cores_after(matrix, (kPass == 1 ? kLowEntries : 0) + (p * kSteps + s) * (kPieceBytes / 2)));
            });
        });
        commit_warpgroup_products();
        wait_warpgroup_products<0>();
        for_turns<0, kChunks>([&](auto piece) { wait_warpgroup_products<0>(sum[decltype(piece)::value]); });

#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const bool stands = exponents[h] == tensor::kNotFinite;
            const int outputs = exists(h) && !stands ? g.outputs : 0;
            float* const to = out + out_place<kApart>(a, g, own[h]);
            // In two steps where one factor alone might overflow although the outputs do not.
            const int exponent = stands ? 0 : exponents[h] + tap_exponent - 2 * tensor::kTopExponent;
            const bool once = exponent >= -126 && exponent <= 127;
            const float factor = tensor::power_of_two(once ? exponent : exponent / 2);
            const float rest = once ? 1 : tensor::power_of_two(exponent - exponent / 2);
#pragma unroll
            for (int e = 0; e < 2 * kChunks; ++e) {
                float own[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    own[i] = sum[e / 2][e % 2 * 2 + i / 2][2 * h + i % 2] * factor * rest;
                    if (a.plain_store == 0) { own[i] = finish(a, own[i]); }
                }
                const float4 four{own[0], own[1], own[2], own[3]};
                if (!kApart && g.out_vectors != 0) {
                    store_four(to, steps.out, 16 * e, outputs, true, of_row, four);
                } else {
                    store_four(to, steps.out, 16 * e, outputs, false, of_row, four);
                }
            }
            unsigned standing = __ballot_sync(0xffffffffU, stands && of_row == 0 && exists(h));
            for (; standing != 0; standing &= standing - 1) {
                const RowPlace row = row_place<kApart>(g, row_in_tile + 8 * h + (__ffs(static_cast<int>(standing)) - 1) / 4);
                sum_as_they_stand(a, g, static_cast<const float*>(a.in) + place.in + in_place<kApart>(a, g, row),
                                  kApart ? g.apart.in_sample : 1, out + out_place<kApart>(a, g, row), steps.out, lane);
            }
        }
        if (whole) {
            fence_before_copy();
            wait_for_warpgroup(group);
            if (kApart && by_threads) {
                take_channels_away(held, a, g, place, thread % tensor::kThreads);
            } else if (moves) {
                take_tile_away<kApart>(held, a, g, place);
            }
            buffer = 1 - buffer;
            phase ^= buffer == 0 ? 1 : 0;
        }
    }
    if (moves) { wait_stores(); }
#endif
}

}  // namespace tapline::cuda::short_rows
