// 04 for pixels of a byte: many pixels a thread, as words of memory; they become floats, and sums bytes, without the slow
// conversions where that is possible.
#pragma once

#include <cstring>

#include "cuda/families/direct/image_bytes.hpp"
#include "cuda/primitives/image/image_tile.cuh"
#include "cuda/primitives/lines/lines.cuh"
#include "cuda/primitives/sliding_window.cuh"

namespace tapline::cuda::image_bytes_rung {

/// Byte `kByte` of a word as a float: the low bits of 2^23's mantissa, one shuffle of bytes and one sum, where the device's own
/// conversion takes four times as long.
template <int kByte>
__device__ __forceinline__ float float_of_byte(unsigned word) {
    constexpr unsigned kTwo23 = 0x4B000000;
    return __uint_as_float(__byte_perm(word, kTwo23, 0x7650 + kByte)) - 8388608.0F;
}

/// Four sums as bytes, rounded to even and saturated; NaN is 0.
__device__ __forceinline__ unsigned bytes_of(const float* sum) {
    const int i[] = {__float2int_rn(sum[0]), __float2int_rn(sum[1]), __float2int_rn(sum[2]), __float2int_rn(sum[3])};
#if defined(__CUDA_ARCH__)
    unsigned high;
    unsigned all;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(i[3]), "r"(i[2]), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(i[1]), "r"(i[0]), "r"(high));
    return all;
#else
    unsigned all = 0;
    for (int k = 0; k < 4; ++k) { all |= static_cast<unsigned>(min(max(i[k], 0), 255)) << 8 * k; }
    return all;
#endif
}

/// Where each pixel of a strip at an edge comes from, in elements of a row, -1 where there is none: found once, not for every row.
using Sources = int[kThreads];

/// kWords words of a row from element e on, at any address; row < 0: all absent. `sources`: this thread's, of a strip at an edge.
template <int kWords>
__device__ __forceinline__ void load_words(const ImageArguments& a, unsigned (&to)[kWords], const std::uint8_t* in,
                                           std::int64_t row, std::int64_t e, bool at_edge, const Sources* sources) {
    const std::uint8_t* const from = in + row * a.in_row;
    if (row < 0) {
#pragma unroll
        for (int i = 0; i < kWords; ++i) { to[i] = absent_pixel<std::uint8_t>(a) * 0x01010101U; }
    } else if (!at_edge) {
        // Whole words of memory around what is needed: they may begin 3 elements before and end 3 behind.
        const auto lead = static_cast<int>((reinterpret_cast<std::uintptr_t>(from) + static_cast<std::uintptr_t>(e)) % 4);
        const auto* const words = reinterpret_cast<const unsigned*>(from + (e - lead));
        unsigned held[kWords + 1];
#pragma unroll
        for (int i = 0; i < kWords; ++i) { held[i] = __ldg(words + i); }
        held[kWords] = lead != 0 ? __ldg(words + kWords) : 0;
#pragma unroll
        for (int i = 0; i < kWords; ++i) { to[i] = __funnelshift_r(held[i], held[i + 1], 8 * lead); }
    } else {
        const unsigned absent = absent_pixel<std::uint8_t>(a);
        unsigned pixel[4 * kWords];
#pragma unroll
        for (int i = 0; i < 4 * kWords; ++i) {
            const int at = sources[i][threadIdx.x];
            pixel[i] = at >= 0 ? __ldg(from + at) : absent;
        }
#pragma unroll
        for (int i = 0; i < kWords; ++i) {
            to[i] = pixel[4 * i] | pixel[4 * i + 1] << 8 | pixel[4 * i + 2] << 16 | pixel[4 * i + 3] << 24;
        }
    }
}

/// Outputs of a row, `count` of them.
template <int V>
__device__ __forceinline__ void store_bytes(const ImageArguments& a, float (&sum)[V], std::uint8_t* to, std::int64_t count) {
    if (a.common.plain_store == 0) {
#pragma unroll
        for (int i = 0; i < V; ++i) { sum[i] = finish(a.common, sum[i]); }
    }
    unsigned words[V / 4];
#pragma unroll
    for (int i = 0; i < V / 4; ++i) { words[i] = bytes_of(sum + 4 * i); }
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    if (count >= V && address % V == 0) {
        if constexpr (V == 16) {
            __stcs(reinterpret_cast<uint4*>(to), uint4{words[0], words[1], words[2], words[3]});
        } else {
            __stcs(reinterpret_cast<uint2*>(to), uint2{words[0], words[1]});
        }
    } else if (count >= V && address % 4 != 0) {
        // Whole words of memory, and the bytes before and behind them.
        const int lead = 4 - static_cast<int>(address % 4);
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            if (i < lead) { to[i] = static_cast<std::uint8_t>(words[0] >> 8 * i); }
            if (i < 4 - lead) { to[V - 4 + lead + i] = static_cast<std::uint8_t>(words[V / 4 - 1] >> 8 * (lead + i)); }
        }
#pragma unroll
        for (int i = 0; i + 1 < V / 4; ++i) {
            __stcs(reinterpret_cast<unsigned*>(to + lead) + i, __funnelshift_r(words[i], words[i + 1], 8 * lead));
        }
    } else {
#pragma unroll
        for (int i = 0; i < V / 4; ++i) {
            if (4 * i + 4 <= count && address % 4 == 0) {
                __stcs(reinterpret_cast<unsigned*>(to) + i, words[i]);
            } else {
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    if (4 * i + k < count) { to[4 * i + k] = static_cast<std::uint8_t>(words[i] >> 8 * k); }
                }
            }
        }
    }
}

/// A thread goes down a strip of V outputs a row. A row of the image is loaded and converted once; the sums of the K rows of
/// outputs that it belongs to wait in registers. kChannels: elements of a step along a row.
template <int K, int kChannels>
__global__ void __launch_bounds__(kThreads, 2)
    kernel(const __grid_constant__ ImageArguments a, const __grid_constant__ Mask mask, const __grid_constant__ Strips strips) {
    constexpr int V = outputs_of_thread(K);
    constexpr int kPixels = V + (K - 1) * kChannels;
    constexpr int kWords = (kPixels + 3) / 4;
    __shared__ Sources sources[4 * kWords];
    const std::int64_t strip = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (strip >= strips.all) { return; }
    const std::int64_t line = divide(strip, strips.across);
    const std::int64_t image = divide(line, strips.down);
    const std::int64_t element = (strip - line * strips.across) * V;
    const std::int64_t first = (line - image * strips.down) * strips.rows;
    const int rows = static_cast<int>(min(a.rows - first, static_cast<std::int64_t>(strips.rows)));
    const std::int64_t e = element - a.origin_x * kChannels;
    const std::int64_t top = a.first + first - a.origin_y;
    const auto* const in = static_cast<const std::uint8_t*>(a.in) + image * a.in_image;
    auto* to = static_cast<std::uint8_t*>(a.out) + image * a.out_image + first * a.out_row + element;

    const bool at_edge = e < 3 || e + 4 * kWords + 3 > a.row_elements;
    if (at_edge) {
        for (int i = 0; i < 4 * kWords; ++i) { sources[i][threadIdx.x] = static_cast<int>(source_element(a, e + i)); }
    }

    unsigned next[kWords];
    load_words(a, next, in, source_row(a, top), e, at_edge, sources);
    float sum[K][V] = {};
    // Turn i of the ring: row i of the window; the outputs of row i - K + 1 are complete then.
    const auto turn = [&](auto index, int i) {
        constexpr int m = decltype(index)::value;
        float pixel[4 * kWords];
#pragma unroll
        for (int w = 0; w < kWords; ++w) {
            pixel[4 * w] = float_of_byte<0>(next[w]);
            pixel[4 * w + 1] = float_of_byte<1>(next[w]);
            pixel[4 * w + 2] = float_of_byte<2>(next[w]);
            pixel[4 * w + 3] = float_of_byte<3>(next[w]);
        }
        if (i + 1 < rows + K - 1) { load_words(a, next, in, source_row(a, top + i + 1), e, at_edge, sources); }
#pragma unroll
        for (int t = 0; t < K; ++t) {
            float(&of_row)[V] = sum[(m + K - t) % K];
#pragma unroll
            for (int j = 0; j < K; ++j) {
#pragma unroll
                for (int v = 0; v < V; ++v) {
                    const float x = pixel[v + j * kChannels];
                    of_row[v] = t == 0 && j == 0 ? x * mask.taps[0] : fmaf(x, mask.taps[t * K + j], of_row[v]);
                }
            }
        }
        if (i >= K - 1) {
            store_bytes(a, sum[(m + 1) % K], to, a.out_elements - element);
            to += a.out_row;
        }
    };
#pragma unroll 1
    for (int i = 0; i < rows + K - 1; i += K) {
        for_turns<0, K>([&](auto index) {
            constexpr int m = decltype(index)::value;
            if (i + m < rows + K - 1) { turn(index, i + m); }
        });
    }
}

}  // namespace tapline::cuda::image_bytes_rung
