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

/// Elements [begin, end) of 32 * kVectors staged vectors to an address of any alignment: whole vectors there are put together from
/// two neighbouring ones here, kWords words and `bits` bits on; what is left at both ends, less than a vector each, goes element by
/// element. skip: elements before the first 16-byte boundary. kWords < 0: the address is such a boundary.
template <class S, int kVectors, int kWords>
__device__ __forceinline__ void store_vectors(S* to, const S* stage, int skip, int bits, int begin, int end, int lane) {
    constexpr int V = kPerVector<S>;
    const auto* vectors = reinterpret_cast<const uint4*>(stage);
    auto* target = reinterpret_cast<uint4*>(to + skip);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        const int index = v * 32 + lane;
        const int first = skip + index * V;
        if (first < begin || first + V > end) { continue; }
        uint4 out = vectors[index];
        if constexpr (kWords >= 0) {
            const uint4 right = vectors[index + 1];
            const unsigned words[9] = {out.x, out.y, out.z, out.w, right.x, right.y, right.z, right.w, 0};
            out.x = __funnelshift_r(words[kWords], words[kWords + 1], bits);
            out.y = __funnelshift_r(words[kWords + 1], words[kWords + 2], bits);
            out.z = __funnelshift_r(words[kWords + 2], words[kWords + 3], bits);
            out.w = __funnelshift_r(words[kWords + 3], words[kWords + 4], bits);
        }
        __stcs(target + index, out);
    }
    const int head = begin + ((skip - begin) & (V - 1));  // begins the first whole vector, if there is one
    const int tail = end - ((end - skip) & (V - 1));      // ends the last
    if (lane < 2 * V) {
        const int i = lane < V ? begin + lane : max(tail, head) + lane - V;
        if (i < (lane < V ? min(head, end) : end)) { to[i] = stage[i]; }
    }
}

/// The same for any address that is a multiple of the element's size, at most a word's.
template <class S, int kVectors>
__device__ __forceinline__ void store_elements(S* to, const S* stage, int begin, int end, int lane) {
    const int bytes = static_cast<int>(-reinterpret_cast<std::uintptr_t>(to) % 16);
    const int skip = bytes / static_cast<int>(sizeof(S));
    const int bits = sizeof(S) < 4 ? bytes % 4 * 8 : 0;
    if (bytes == 0) {
        store_vectors<S, kVectors, -1>(to, stage, 0, 0, begin, end, lane);
    } else if (bytes < 4) {
        if constexpr (sizeof(S) < 4) { store_vectors<S, kVectors, 0>(to, stage, skip, bits, begin, end, lane); }
    } else if (bytes < 8) {
        store_vectors<S, kVectors, 1>(to, stage, skip, bits, begin, end, lane);
    } else if (bytes < 12) {
        store_vectors<S, kVectors, 2>(to, stage, skip, bits, begin, end, lane);
    } else {
        store_vectors<S, kVectors, 3>(to, stage, skip, bits, begin, end, lane);
    }
}

/// The sums of a warp, lane l holding O = kVectors * V of them, through `stage`, 32 * O elements of its own; every one is stored.
template <class S, int kVectors>
__device__ __forceinline__ void store_whole(S* to, const typename Element<S>::Sum* sum, S* stage, int lane) {
    constexpr int V = kPerVector<S>;
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    auto* vectors = reinterpret_cast<uint4*>(stage);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) { vectors[lane * kVectors + v] = pack<S>(sum + v * V); }
    __syncwarp();
    if (address % 16 == 0) {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) { __stcs(reinterpret_cast<uint4*>(to) + v * 32 + lane, vectors[v * 32 + lane]); }
    } else if constexpr (sizeof(S) <= 4) {
        store_elements<S, kVectors>(to, stage, 0, 32 * kVectors * V, lane);
    } else if (address % 8 == 0) {
        store_words<uint2>(to, stage, 32 * kVectors * 16, lane);
    } else {
        store_words<unsigned>(to, stage, 32 * kVectors * 16, lane);
    }
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
    const bool whole = o >= 0 && o + kTile <= a.count;
    if (kVectors == 1 && whole && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {  // neighbours already
        __stcs(reinterpret_cast<uint4*>(to) + lane, pack<S>(sum));
        return;
    }
    if (whole) {
        store_whole<S, kVectors>(to, sum, stage, lane);
        return;
    }
    auto* vectors = reinterpret_cast<uint4*>(stage);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) { vectors[lane * kVectors + v] = pack<S>(sum + v * V); }
    __syncwarp();
    const int begin = static_cast<int>(max(-o, std::int64_t{0}));
    const int end = static_cast<int>(min(a.count - o, std::int64_t{kTile}));
    if constexpr (sizeof(S) ==
                  2) {  // rows have two such tiles: one element a lane at a time would be a tenth of a short row's time
        store_elements<S, kVectors>(to, stage, begin, end, lane);
    } else {
#pragma unroll 1
        for (int i = begin + lane; i < end; i += 32) { store_element(to + i, stage[i]); }
    }
    __syncwarp();
}

}  // namespace tapline::cuda
