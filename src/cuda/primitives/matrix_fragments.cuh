// Tiles of a convolution as matrices of halves for tensor cores: splitting floats into halves, fragments, the product, the way out.
#pragma once

#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/elements.cuh"
#include "cuda/primitives/tile_sizes.hpp"

namespace tapline::cuda::tensor {

/// Vectors of a lane: of a tile's 1024 samples and of those that come with them.
template <class S>
inline constexpr int kWholeVectors = kTile / (32 * kPerVector<S>);
template <class S>
inline constexpr int kMoreVectors = (kMostTaps + 32 + 32 * kPerVector<S> - 1) / (32 * kPerVector<S>);

/// 2^e; e is limited to a float's normal range.
__device__ __forceinline__ float power_of_two(int e) { return __int_as_float((min(max(e, -126), 127) + 127) << 23); }

/// The largest magnitude so far and that of a vector's samples; NaN stays.
__device__ __forceinline__ float max_or_nan(float a, float b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float m;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(fabsf(b)));
    return m;
#else
    return a != a || b != b ? NAN : fmaxf(a, fabsf(b));
#endif
}
template <class S>
__device__ __forceinline__ float largest_of(float so_far, uint4 vector) {
    float samples[kPerVector<S>];
    unpack<S>(samples, vector);
#pragma unroll
    for (int i = 0; i < kPerVector<S>; ++i) { so_far = max_or_nan(so_far, samples[i]); }
    return so_far;
}

/// The exponent of the warp's largest magnitude, at least what a scale can be made of; kNotFinite.
__device__ __forceinline__ int largest_exponent(float largest) {
    // As integers magnitudes have the same order, NaN last.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const unsigned bits = __reduce_max_sync(0xffffffffu, __float_as_uint(largest) & 0x7fffffffu);
#else
    unsigned bits = __float_as_uint(largest) & 0x7fffffffu;
    for (int step = 16; step > 0; step /= 2) { bits = max(bits, __shfl_xor_sync(0xffffffffu, bits, step)); }
#endif
    const int exponent = static_cast<int>(bits >> 23) - 127;
    return exponent == 128 ? kNotFinite : max(exponent, kTopExponent - 127);
}

/// Two floats as halves: `high`, and in `low` what is left.
__device__ __forceinline__ void split(float x, float y, unsigned& high, unsigned& low) {
    const __half2 h = __floats2half2_rn(x, y);
    const float2 back = __half22float2(h);
    const __half2 l = __floats2half2_rn(x - back.x, y - back.y);
    memcpy(&high, &h, 4);
    memcpy(&low, &l, 4);
}

/// A vector of samples, scaled, as halves at `to`; the low ones low_offset bytes on.
template <class S>
__device__ __forceinline__ void store_halves(char* to, int low_offset, uint4 vector, float scale) {
    constexpr int V = kPerVector<S>;
    float x[V];
    unpack<S>(x, vector);
    unsigned high[V / 2];
    unsigned low[V / 2];
#pragma unroll
    for (int i = 0; i < V / 2; ++i) { split(x[2 * i] * scale, x[2 * i + 1] * scale, high[i], low[i]); }
    if constexpr (V == 4) {
        *reinterpret_cast<uint2*>(to) = uint2{high[0], high[1]};
        *reinterpret_cast<uint2*>(to + low_offset) = uint2{low[0], low[1]};
    } else {
        *reinterpret_cast<uint4*>(to) = uint4{high[0], high[1], high[2], high[3]};
    }
}

/// Floats that taps are kept in before they are split: kLead + before zeros, the taps, zeros.
__device__ __forceinline__ void clear_padded_taps(float* padded, int steps, int lane) {
#pragma unroll 1
    for (int e = lane; e < padded_taps(steps); e += 32) { padded[e] = 0; }
}
__device__ __forceinline__ void copy_padded_taps(float* padded, const float* taps, int k, int before, int lane) {
#pragma unroll 1
    for (int t = lane; t < k; t += 32) { copy_4_async(padded + kLead + before + t, taps + t); }
}

/// Padded taps, scaled, as halves; pairs of neighbours are words. Entry i of a table is the two words of a fragment: pair i and
/// pair i + 4. There are four tables of `entries`: pairs that begin at even elements and at odd ones, of high halves; the same of
/// low ones. The exponent of the largest tap, or kNotFinite.
__device__ __forceinline__ int split_taps_to_halves(uint2* tables, int entries, const float* padded, int steps, int lane) {
    float largest = 0;
#pragma unroll 4
    for (int e = lane; e < padded_taps(steps); e += 32) { largest = max_or_nan(largest, padded[e]); }
    __syncwarp();
    const int exponent = largest_exponent(largest);
    const float scale = power_of_two(kTopExponent - exponent);
#pragma unroll 1
    for (int i = lane; i < entries; i += 32) {
        const auto* pairs = reinterpret_cast<const float2*>(padded) + i;
        const float x[2][3] = {{pairs[0].x * scale, pairs[0].y * scale, pairs[1].x * scale},
                               {pairs[4].x * scale, pairs[4].y * scale, pairs[5].x * scale}};
#pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
            uint2 high;
            uint2 low;
            split(x[0][odd], x[0][odd + 1], high.x, low.x);
            split(x[1][odd], x[1][odd + 1], high.y, low.y);
            tables[odd * entries + i] = high;
            tables[(odd + 2) * entries + i] = low;
        }
    }
    __syncwarp();
    return exponent;
}

/// A 16 x 16 fragment of halves in shared memory whose rows have a pitch of kPitch; `address`: this lane's row and half.
__device__ __forceinline__ void load_fragment(unsigned (&to)[4], unsigned address) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
#endif
}

/// sum (16 x 8) += a (16 x 16) * b (16 x 8).
__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], uint2 b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y));
#endif
}

/// One pass over the taps: sum += samples * taps (+ low samples * high taps if kBoth, where `taps` are the low ones).
template <bool kBoth>
__device__ __forceinline__ void multiply_pass(float (&sum)[8][4], unsigned rows, unsigned low_rows, const uint2* taps,
                                              const uint2* high_taps, int steps) {
    unsigned x[4][4];
    unsigned x_low[4][4];
#pragma unroll
    for (int q = 0; q < 3; ++q) {
        load_fragment(x[q], rows + 32 * q);
        if constexpr (kBoth) { load_fragment(x_low[q], low_rows + 32 * q); }
    }
#pragma unroll 1
    for (int left = steps; left > 0; left -= 4) {
#pragma unroll
        for (int turn = 0; turn < 4; ++turn) {
            if (turn == 0 || turn < left) {
                constexpr int kColumns = 4;
                const int slot = (turn + 3) % kColumns;
                const int offset = (turn + 3) / kColumns * kPitch + 32 * slot;
                load_fragment(x[slot], rows + offset);
                if constexpr (kBoth) { load_fragment(x_low[slot], low_rows + offset); }
                const uint2 even = taps[8 * turn];
                const uint2 odd = taps[8 * turn - 4];
#pragma unroll
                for (int p = 0; p < 4; ++p) {
                    multiply(sum[2 * p], x[(turn + p) % 4], even);
                    multiply(sum[2 * p + 1], x[(turn + p) % 4], odd);
                }
                if constexpr (kBoth) {
                    const uint2 high_even = high_taps[8 * turn];
                    const uint2 high_odd = high_taps[8 * turn - 4];
#pragma unroll
                    for (int p = 0; p < 4; ++p) {
                        multiply(sum[2 * p], x_low[(turn + p) % 4], high_even);
                        multiply(sum[2 * p + 1], x_low[(turn + p) % 4], high_odd);
                    }
                }
            }
        }
        rows += kPitch;
        low_rows += kPitch;
        taps += 32;
        high_taps += 32;
    }
}

/// The 16 x 64 outputs of a tile, the small products first: a tensor core cuts off what it adds to a large sum. halves: rows of
/// samples, the low ones low_offset bytes on; tables as split_taps_to_halves() left them; `steps` groups of 16 taps.
template <int kPieces>
__device__ __forceinline__ void multiply_tile(float (&sum)[8][4], const char* halves, int low_offset, const uint2* tables,
                                              int entries, int steps, int lane) {
    const int g = lane / 4;
    const auto rows =
        static_cast<unsigned>(__cvta_generic_to_shared(halves)) + static_cast<unsigned>(lane % 16 * kPitch + lane / 16 * 16);
    const uint2* high = tables + g % 2 * entries + (kLead + 2 * (lane % 4) - g - g % 2) / 2;
    multiply_pass<kPieces == 2>(sum, rows, rows + static_cast<unsigned>(low_offset), high + 2 * entries, high, steps);
    multiply_pass<false>(sum, rows, 0, high, high, steps);
}

/// sum *= 2^exponent; in two steps where one factor alone might overflow although the outputs do not.
__device__ __forceinline__ void scale_back(float (&sum)[8][4], int exponent) {
    const bool once = exponent >= -126 && exponent <= 127;
    const float factor = power_of_two(once ? exponent : exponent / 2);
#pragma unroll
    for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) { sum[n][i] *= factor; }
    }
    if (!once) {
        const float rest = power_of_two(exponent - exponent / 2);
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) { sum[n][i] *= rest; }
        }
    }
}

/// The stage of a tile's outputs: rows of 64, a row's vectors permuted by its number so that neither the way in nor the way out has
/// bank conflicts: of f32 half a warp stores two vectors of four rows at once, of 16 bits a warp one of eight rows.
template <class S>
__device__ constexpr int stage_turn(int row) {
    return sizeof(S) == 4 ? row % 4 * 2 : row % 8;
}
/// Offsets are bytes from a multiple of 128.
template <class S>
__device__ __forceinline__ void stage_fragments(char* stage, const float (&sum)[8][4], int lane) {
    constexpr int kRowBytes = kRow * static_cast<int>(sizeof(S));
    const int g = lane / 4;
    const int c = lane % 4;
    // Pair c of column group n of row g: vector 2 n + c / 2 of 16 (f32), vector n of 8 (16 bits).
    const int base = g * kRowBytes + (stage_turn<S>(g) ^ (sizeof(S) == 4 ? c / 2 : 0)) * 16 + (sizeof(S) == 4 ? c % 2 * 8 : c * 4);
#pragma unroll
    for (int n = 0; n < 8; ++n) {
        const int offset = sizeof(S) == 4 ? (base ^ (n % 4 * 32)) + n / 4 * 128 : base ^ (n * 16);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            char* to = stage + offset + half * 8 * kRowBytes;
            if constexpr (sizeof(S) == 4) {
                *reinterpret_cast<float2*>(to) = float2{sum[n][2 * half], sum[n][2 * half + 1]};
            } else {
                const S pair[2] = {Element<S>::narrow(sum[n][2 * half]), Element<S>::narrow(sum[n][2 * half + 1])};
                unsigned word = 0;
                memcpy(&word, pair, 4);
                *reinterpret_cast<unsigned*>(to) = word;
            }
        }
    }
}

/// Outputs [begin, end) of a staged tile.
template <class S>
__device__ __forceinline__ void store_staged(S* to, const char* stage, int begin, int end, int lane) {
    constexpr int V = kPerVector<S>;
    constexpr int kVectorsOfRow = kRow / V;
    if (begin == 0 && end == kTile && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
        constexpr int kRows = 32 / kVectorsOfRow;  // that the warp stores at once
        const int base = (lane ^ stage_turn<S>(lane / kVectorsOfRow)) * 16;
#pragma unroll
        for (int v = 0; v < kWholeVectors<S>; ++v) {
            __stcs(reinterpret_cast<uint4*>(to) + v * 32 + lane,
                   *reinterpret_cast<const uint4*>(stage + (base ^ (stage_turn<S>(v * kRows) * 16)) + v * 512));
        }
        return;
    }
#pragma unroll 4
    for (int i = begin + lane; i < end; i += 32) {
        const int vector = i / V ^ stage_turn<S>(i / kRow);
        to[i] = reinterpret_cast<const S*>(stage + vector * 16)[i % V];
    }
}

/// `count` samples, at least kTile and a multiple of V, from anywhere.
template <class S>
__device__ __forceinline__ void copy_inner(S* to_shared, const S* from, int count, int lane) {
    constexpr int V = kPerVector<S>;
    if (reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
        S* to = to_shared + lane * V;
        from += lane * V;
#pragma unroll
        for (int v = 0; v < kWholeVectors<S> + kMoreVectors<S>; ++v) {
            if (v < kWholeVectors<S> || (v * 32 + lane) * V < count) { copy_16_async(to + v * 32 * V, from + v * 32 * V); }
        }
        return;
    }
#pragma unroll 4
    for (int i = lane; i < count; i += 32) {
        if constexpr (sizeof(S) == 4) {
            copy_4_async(to_shared + i, from + i);
        } else {
            to_shared[i] = from[i];
        }
    }
}

}  // namespace tapline::cuda::tensor
