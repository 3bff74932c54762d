// Rows of a tile whose 16-bit samples a warpgroup multiplies as they come: taps in shared memory, samples as halves, outputs.
#pragma once

#include "cuda/families/tensor/group_tile.cuh"
#include "cuda/primitives/bulk_copy.cuh"
#include "cuda/primitives/tile_sizes.hpp"

namespace tapline::cuda::tensor {

/// How many copies to a buffer were started, and of which tile the last one: both at once, for those that wait for it.
__device__ __forceinline__ void tell_start(std::uint64_t* started, std::uint32_t copies, std::uint32_t tile) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("st.release.cta.shared::cta.u64 [%0], %1;" ::"r"(shared_address(started)), "l"(std::uint64_t{copies} << 32 | tile)
                 : "memory");
#else
    static_cast<void>(started);
    static_cast<void>(copies);
    static_cast<void>(tile);
#endif
}
/// Waits for so many copies; returns the tile.
__device__ __forceinline__ std::uint32_t wait_for_start(std::uint64_t* started, std::uint32_t copies) {
    std::uint64_t seen = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    do {
        asm volatile("ld.acquire.cta.shared::cta.u64 %0, [%1];" : "=l"(seen) : "r"(shared_address(started)) : "memory");
    } while (seen >> 32 < copies);
#else
    static_cast<void>(started);
    static_cast<void>(copies);
#endif
    return static_cast<std::uint32_t>(seen);
}

/// Where in a chunk the sample lies that is number i of step `step`: a thread's 8 samples, as they lie in memory, are four pairs
/// of the two steps.
__device__ __forceinline__ int place_in_chunk(int step, int i) { return 8 * (i % 8 / 2) + 4 * step + 2 * (i / 8) + i % 2; }
/// The output of column n: a thread's four pairs of sums are 8 neighbours.
__device__ __forceinline__ int output_of_column(int n) { return 8 * (n % 8 / 2) + 2 * (n / 8) + n % 2; }

/// T for every step of every chunk, by the whole block: of H, for __half scaled, then, of two pieces, what is left of them. Returns
/// the exponent of the largest tap. `scratch`: row_scratch_floats(kChunks) in shared memory.
__host__ __device__ constexpr int row_scratch_floats(int chunks) { return kChunk * (chunks + 1) - 1; }
template <class H, int kChunks, int kPieces>
__device__ __forceinline__ int store_row_taps(char* to, float* scratch, const Arguments& a, int before, int thread) {
    constexpr int kThreadsOfBlock = row_threads(kChunks);
    constexpr int kFloats = row_scratch_floats(kChunks);  // tap 0 is number kChunk - 1 + before
    const auto* taps = static_cast<const float*>(a.taps);
#pragma unroll
    for (int i = thread; i < kFloats; i += kThreadsOfBlock) {
        const int t = i - (kChunk - 1) - before;
        scratch[i] = t >= 0 && t < static_cast<int>(a.k) ? taps[t] : 0;
    }
    __syncthreads();
    float largest = 0;
#pragma unroll
    for (int i = thread % 32; i < kFloats; i += 32) { largest = max_or_nan(largest, scratch[i]); }
    const int exponent = max(largest_exponent(largest), kTopExponent - 126);  // a factor of 2^-126 scales back
    const float scale = power_of_two(kTopExponent - exponent);
#pragma unroll 4
    for (int e = thread; e < kChunks * kChunkTaps / 2; e += kThreadsOfBlock) {
        const int i = e % 8 * 2;
        const int n = e / 8 % kChunk;
        const int step = e / (8 * kChunk);
        const float* const pair = scratch + kChunk - 1 + step / 2 * kChunk + place_in_chunk(step % 2, i) - output_of_column(n);
        auto* const at =
            reinterpret_cast<unsigned*>(to + step * (2 * kChunkTaps / 2) + i / 8 * 512 + n / 8 * 128 + n % 8 * 16 + i % 8 * 2);
        if constexpr (std::is_same_v<H, __half>) {
            unsigned high = 0;
            unsigned low = 0;
            split(pair[0] * scale, pair[1] * scale, high, low);
            at[0] = high;
            if constexpr (kPieces == 2) { at[row_tap_bytes(kChunks) / 4] = low; }
        } else {
            const __nv_bfloat162 both = __floats2bfloat162_rn(pair[0], pair[1]);
            memcpy(at, &both, 4);
        }
    }
    return exponent;
}

/// A chunk's vectors of two rows, 8 rows from one to the other, in the order of fragments.
__device__ __forceinline__ void to_fragments(unsigned (&to)[8], uint4 upper, uint4 lower) {
    to[0] = upper.x;
    to[1] = lower.x;
    to[2] = upper.y;
    to[3] = lower.y;
    to[4] = upper.z;
    to[5] = lower.z;
    to[6] = upper.w;
    to[7] = lower.w;
}
/// The largest magnitudes so far and of eight pairs more; NaN stays.
template <class S>
__device__ __forceinline__ unsigned largest_of_pairs(unsigned so_far, const unsigned (&x)[8]) {
    using Pair = std::conditional_t<std::is_same_v<S, __half>, __half2, __nv_bfloat162>;
    Pair largest;
    memcpy(&largest, &so_far, 4);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        Pair pair;
        memcpy(&pair, &x[i], 4);
        largest = __hmax2_nan(largest, __habs2(pair));
    }
    memcpy(&so_far, &largest, 4);
    return so_far;
}
/// See as_halves().
template <class S>
__device__ __forceinline__ void convert_fragments(unsigned (&x)[8], __nv_bfloat162 scale) {
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
        const uint4 halves = as_halves<S>(uint4{x[i], x[i + 1], x[i + 2], x[i + 3]}, scale);
        x[i] = halves.x;
        x[i + 1] = halves.y;
        x[i + 2] = halves.z;
        x[i + 3] = halves.w;
    }
}

/// Sums of products as they stand, of a warp's `count` outputs: NaN and infinity reach the outputs whose window holds them.
template <class S>
__device__ __noinline__ void sum_rows_as_they_stand(const Arguments& a, S* out, std::int64_t o, const S* samples, int count,
                                                    int lane) {
    const auto* taps = static_cast<const float*>(a.taps);
    constexpr int kSums = 4;  // of a lane at a time: one after the other waits for every load
#pragma unroll 1
    for (int i = lane; i < count; i += 32 * kSums) {
        float sum[kSums] = {};
        TapRange met[kSums];
#pragma unroll
        for (int s = 0; s < kSums; ++s) { met[s] = taps_met(a, a.first - a.origin - a.in_first + o + i + 32 * s); }
#pragma unroll 4
        for (int t = 0; t < static_cast<int>(a.k); ++t) {
            const float tap = taps[t];
#pragma unroll
            for (int s = 0; s < kSums; ++s) {
                const bool meets = t >= met[s].begin && t < met[s].end;
                sum[s] = meets ? fmaf(Element<S>::widen(samples[i + 32 * s + t]), tap, sum[s]) : sum[s];
            }
        }
#pragma unroll
        for (int s = 0; s < kSums; ++s) {
            const int at = i + 32 * s;
            if (o + at >= 0 && o + at < a.count) { out[at] = Element<S>::narrow(finish(a, sum[s])); }
        }
    }
}

/// Eight sums as a vector of outputs.
template <class S>
__device__ __forceinline__ uint4 as_outputs(const float (&sums)[8]) {
    unsigned words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const S pair[2] = {Element<S>::narrow(sums[2 * i]), Element<S>::narrow(sums[2 * i + 1])};
        memcpy(&words[i], pair, 4);
    }
    return uint4{words[0], words[1], words[2], words[3]};
}
/// The same after the epilogue. A call, or every position would have the epilogue's code and registers.
template <class S>
__device__ __noinline__ uint4 as_finished_outputs(const Arguments& a, float4 first, float4 second) {
    const float sums[8] = {finish(a, first.x),  finish(a, first.y),  finish(a, first.z),  finish(a, first.w),
                           finish(a, second.x), finish(a, second.y), finish(a, second.z), finish(a, second.w)};
    return as_outputs<S>(sums);
}

/// What of a warp's `size` outputs in shared memory exists, the first being output o.
template <class S>
__device__ __noinline__ void store_rows_part(S* to, const S* from, int size, std::int64_t o, std::int64_t count, int lane) {
    const bool vectors = reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
#pragma unroll 1
    for (int i = lane * 8; i < size; i += 32 * 8) {
        if (vectors && o + i >= 0 && o + i + 8 <= count) {
            *reinterpret_cast<uint4*>(to + i) = *reinterpret_cast<const uint4*>(from + i);
            continue;
        }
#pragma unroll
        for (int j = i; j < i + 8; ++j) {
            if (o + j >= 0 && o + j < count) { to[j] = from[j]; }
        }
    }
}

/// Which samples of a tile a bulk copy brings: whole vectors that exist; none if `from` is not a vector's place.
struct Part {
    int begin, end;
};
template <class S>
__device__ __forceinline__ Part part_copied(const Arguments& a, const S* from, std::int64_t start, int needed) {
    if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0) { return {0, 0}; }
    const std::int64_t all = needed;
    const std::int64_t begin = min((max(-start, std::int64_t{0}) + 7) / 8 * 8, all);
    const std::int64_t end = min(max(a.in_last - a.in_first - start, begin) / 8 * 8, all);
    return {static_cast<int>(begin), static_cast<int>(end)};
}

}  // namespace tapline::cuda::tensor
