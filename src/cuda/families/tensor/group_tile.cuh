// A warpgroup's tile: 16-bit samples as halves, taps as its fragments, sums on their way out.
#pragma once

#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/matrix_fragments.cuh"
#include "cuda/primitives/tile_sizes.hpp"
#include "cuda/primitives/warpgroup.cuh"

namespace tapline::cuda::tensor {

/// Half-precision samples are operands as they are, bfloat16s become halves.
template <class S>
inline constexpr bool kScaled = std::is_same_v<S, __nv_bfloat16>;

/// Where a tile is.
struct Spot {
    std::int64_t row;
    int tile;
};

/// A vector's elements [begin, end), zeros elsewhere.
__device__ __forceinline__ uint4 keep_elements(uint4 vector, int begin, int end) {
    unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const unsigned low = 2 * i >= begin && 2 * i < end ? 0xffffu : 0;
        const unsigned high = 2 * i + 1 >= begin && 2 * i + 1 < end ? 0xffff0000u : 0;
        words[i] &= low | high;
    }
    return uint4{words[0], words[1], words[2], words[3]};
}

/// As integers magnitudes have the same order, NaN last.
__device__ __forceinline__ unsigned largest_of_pairs(unsigned so_far, uint4 vector) {
    const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) { so_far = __vmaxu2(so_far, words[i] & 0x7fff7fffu); }
    return so_far;
}
/// The warp's exponent that samples are scaled by: bfloat16s become halves, halves stay as they are. kNotFinite.
template <class S>
__device__ __forceinline__ int exponent_of_pairs(unsigned largest) {
    largest = max(largest & 0xffffu, largest >> 16);
    if constexpr (kScaled<S>) { return largest_exponent(__uint_as_float(largest << 16)); }
    const int exponent = largest_exponent(__uint_as_float(largest < 0x7c00u ? 0 : 0x7f800000u));
    return exponent == kNotFinite ? kNotFinite : kTopExponent;
}

/// A vector of samples as halves, bfloat16s scaled by a power of two, which is exact.
template <class S>
__device__ __forceinline__ uint4 as_halves(uint4 vector, __nv_bfloat162 scale) {
    if constexpr (!kScaled<S>) { return vector; }
    unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        __nv_bfloat162 pair;
        memcpy(&pair, &words[i], 4);
        pair = __hmul2(pair, scale);
        memcpy(&words[i], &pair, 4);
        const __half2 halves = __floats2half2_rn(__uint_as_float(words[i] << 16), __uint_as_float(words[i] & 0xffff0000u));
        memcpy(&words[i], &halves, 4);
    }
    return uint4{words[0], words[1], words[2], words[3]};
}

/// Row 16 w + i of T has the high halves of the taps for output 8 w + i of 32, row 16 w + 8 + i what is left of them.
template <int kSteps>
__device__ __forceinline__ int build_taps(unsigned (&to)[kSteps][4], float* padded, int* exponents, const Arguments& a, int before,
                                          std::int64_t row) {
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    const auto* taps = reinterpret_cast<const float*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
    float largest = 0;
    __syncthreads();
#pragma unroll
    for (int i = thread; i < 16 * kSteps + 32; i += kThreads) {
        const int t = i - 31 - before;
        const float tap = t >= 0 && t < static_cast<int>(a.k) ? taps[t] : 0;
        padded[i] = tap;
        largest = max_or_nan(largest, tap);
    }
    const int of_warp = largest_exponent(largest);
    if (lane == 0) { exponents[warp] = of_warp; }
    __syncthreads();
    const int exponent = max(max(exponents[0], exponents[1]), max(exponents[2], exponents[3]));
    const float scale = power_of_two(kTopExponent - exponent);
    const float* own = padded + 31 - 8 * warp - lane / 4 + 2 * (lane % 4);
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            split(own[16 * s + 8 * half] * scale, own[16 * s + 8 * half + 1] * scale, to[s][2 * half], to[s][2 * half + 1]);
        }
    }
    __syncthreads();
    return exponent;
}

/// Sums of products as they stand: NaN and infinity reach the outputs whose window holds them.
template <class S>
__device__ __forceinline__ void sum_as_they_stand(const Arguments& a, S* out, std::int64_t o, const S* samples, std::int64_t row,
                                                  int thread) {
    const auto* taps = reinterpret_cast<const float*>(static_cast<const char*>(a.taps) + row * a.taps_row_bytes);
#pragma unroll 1
    for (int i = thread; i < kGroupTile; i += kThreads) {
        if (o + i < 0 || o + i >= a.count) { continue; }
        float sum = 0;
        const TapRange met = taps_met(a, a.first - a.origin - a.in_first + o + i);
#pragma unroll 1
        for (std::int64_t t = met.begin; t < met.end; ++t) { sum = fmaf(Element<S>::widen(samples[i + t]), taps[t], sum); }
        out[i] = Element<S>::narrow(finish(a, sum));
    }
}

/// Both products of an output are one thread's. Vector w of column c goes to place w ^ c / 2 % 4 of the column's four.
template <class S>
__device__ __forceinline__ void stage_sums(const Arguments& a, unsigned stage, float (&sum)[8][4], int exponent, int lane,
                                           int warp) {
    const bool once = exponent >= -126 && exponent <= 127;
    const float factor = power_of_two(once ? exponent : exponent / 2);
#pragma unroll
    for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) { sum[n][i] = (sum[n][i] + sum[n][i + 2]) * factor; }
    }
    if (!once || !a.plain_store) {
        const float rest = once ? 1 : power_of_two(exponent - exponent / 2);
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
            for (int i = 0; i < 2; ++i) { sum[n][i] = finish(a, sum[n][i] * rest); }
        }
    }
    const unsigned address = stage + static_cast<unsigned>(lane * 64 + (warp ^ (lane / 2 % 4)) * 16);
#pragma unroll
    for (int n = 0; n < 8; n += 4) {
        unsigned pairs[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const S pair[2] = {Element<S>::narrow(sum[n + i][0]), Element<S>::narrow(sum[n + i][1])};
            memcpy(&pairs[i], pair, 4);
        }
        store_transposed(address + n / 4 * 32 * 64, pairs);
    }
}

/// Half a tile from its stage; o: its first output, from the job's first one.
template <class S>
__device__ __forceinline__ void store_half(S* to, const char* stage, std::int64_t o, std::int64_t count, int thread) {
    constexpr int kHalf = kGroupTile / 2;
    if (o >= 0 && o + kHalf <= count && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
        const char* from = stage + thread / 4 * 64 + (thread % 4 ^ (thread / 8 % 4)) * 16;
#pragma unroll
        for (int v = 0; v < kHalf / 8 / kThreads; ++v) {
            __stcs(reinterpret_cast<uint4*>(to) + v * kThreads + thread,
                   *reinterpret_cast<const uint4*>(from + v * (kThreads * 16)));
        }
        return;
    }
    const int begin = o < 0 ? static_cast<int>(-o) : 0;
    const int end = static_cast<int>(min(count - o, static_cast<std::int64_t>(kHalf)));
#pragma unroll 1
    for (int i = begin + thread; i < end; i += kThreads) {
        const int column = i / 32;
        const int vector = i / 8 % 4 ^ (column / 2 % 4);
        to[i] = reinterpret_cast<const S*>(stage + column * 64 + vector * 16)[i % 8];
    }
}

}  // namespace tapline::cuda::tensor
