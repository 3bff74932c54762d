// The outputs of a warp on their way out: turned in shared memory so that neighbouring lanes store neighbouring words.
#pragma once

#include "cuda/primitives/epilogue.cuh"

namespace tapline::cuda {

/// Word by word, streaming: outputs are not read again.
template <class W>
__device__ __forceinline__ void store_words(void* to, const void* stage, int bytes, int lane) {
    const int words = bytes / static_cast<int>(sizeof(W));
    auto* target = static_cast<W*>(to);
    const auto* source = static_cast<const W*>(stage);
#pragma unroll 4
    for (int w = lane; w < words; w += 32) { __stcs(target + w, source[w]); }
}

/// 16-bit elements to an address between two words: whole words put together from neighbouring ones.
__device__ __forceinline__ void store_halves(unsigned short* to, const void* stage, int elements, int lane) {
    const auto* words = static_cast<const unsigned*>(stage);
    auto* target = reinterpret_cast<unsigned*>(to + 1);
#pragma unroll 4
    for (int w = lane; w < elements / 2 - 1; w += 32) { __stcs(target + w, __funnelshift_r(words[w], words[w + 1], 16)); }
    if (lane == 0) { to[0] = static_cast<unsigned short>(words[0]); }
    if (lane == 31) { to[elements - 1] = static_cast<unsigned short>(words[elements / 2 - 1] >> 16); }
}

/// The sums of a warp, lane l holding O = kVectors * V of them, to a 16-byte address, through `stage`, 32 * O elements of its own.
template <class S, int kVectors>
__device__ __forceinline__ void store_vectors(S* to, const typename Element<S>::Sum* sum, S* stage, int lane) {
    auto* vectors = reinterpret_cast<uint4*>(stage);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) { vectors[lane * kVectors + v] = pack<S>(sum + v * kPerVector<S>); }
    __syncwarp();
#pragma unroll
    for (int v = 0; v < kVectors; ++v) { __stcs(reinterpret_cast<uint4*>(to) + v * 32 + lane, vectors[v * 32 + lane]); }
    __syncwarp();
}

/// The sums of a warp, lane l holding O = kVectors * V of them from output o + l * O on (relative to the job's first one), through
/// `stage`, 32 * O elements of this warp's own. Outputs outside [0, count) are not stored. For Arguments::plain_layout.
template <class S, int kVectors>
__device__ __forceinline__ void store_tile(const Arguments& a, std::int64_t row, std::int64_t o, typename Element<S>::Sum* sum,
                                           S* stage, int lane) {
    constexpr int V = kPerVector<S>;
    constexpr int O = kVectors * V;
    constexpr int kTile = 32 * O;
    if (!a.plain_store) {
#pragma unroll
        for (int i = 0; i < O; ++i) { sum[i] = finish(a, sum[i]); }
    }
    S* const to = static_cast<S*>(a.out) + row * a.out_row + o;
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    const bool whole = o >= 0 && o + kTile <= a.count;
    if (kVectors == 1 && whole && address % 16 == 0) {  // neighbours already
        __stcs(reinterpret_cast<uint4*>(to) + lane, pack<S>(sum));
        return;
    }
    auto* vectors = reinterpret_cast<uint4*>(stage);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) { vectors[lane * kVectors + v] = pack<S>(sum + v * V); }
    __syncwarp();
    if (!whole) {
        const int begin = static_cast<int>(max(-o, std::int64_t{0}));
        const int end = static_cast<int>(min(a.count - o, std::int64_t{kTile}));
#pragma unroll 1
        for (int i = begin + lane; i < end; i += 32) { to[i] = stage[i]; }
    } else if (address % 16 == 0) {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) { __stcs(reinterpret_cast<uint4*>(to) + v * 32 + lane, vectors[v * 32 + lane]); }
    } else if (sizeof(S) > 4 && address % 8 == 0) {
        store_words<uint2>(to, stage, kTile * sizeof(S), lane);
    } else if (address % 4 == 0) {
        store_words<unsigned>(to, stage, kTile * sizeof(S), lane);
    } else if constexpr (sizeof(S) == 2) {
        store_halves(reinterpret_cast<unsigned short*>(to), stage, kTile, lane);
    }
    __syncwarp();
}

}  // namespace tapline::cuda
