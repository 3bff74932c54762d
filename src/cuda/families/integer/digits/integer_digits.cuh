// Integers as bytes on a GPU: samples that are not all there, tables of the taps' bytes, sums of powers of 256.
#pragma once

#include "cuda/families/integer/digits/integer_digits.hpp"
#include "cuda/families/integer/integer_signal.cuh"

namespace tapline::cuda::integer {

/// A vector of samples that are not all in the piece.
template <int kBytes>
__device__ __noinline__ uint4 vector_elsewhere(const Signal& g, std::int64_t row, std::int64_t at) {
    typename RawOf<kBytes>::Type raw[16 / kBytes];
    for (int i = 0; i < 16 / kBytes; ++i) { raw[i] = static_cast<typename RawOf<kBytes>::Type>(sample_at(g, row, at + i)); }
    uint4 vector;
    memcpy(&vector, raw, sizeof vector);
    return vector;
}

/// A filter's tables, by a block: of each of its T bytes the words that begin 0, 1, 2 and 3 bytes early, kLead zeros before them
/// and zeros behind.
template <int T, int kLead, int kThreads>
__device__ __forceinline__ void bring_tables(unsigned* tables, int table_words, const unsigned* words, int tap_words) {
    const auto thread = static_cast<int>(threadIdx.x);
#pragma unroll 1
    for (int i = thread; i < table_words; i += kThreads) {
        const int word = i - kLead;
#pragma unroll
        for (int j = 0; j < T; ++j) {
            const unsigned* const from = words + j * tap_words + word;
            const std::uint64_t here = word >= 0 && word < tap_words ? from[0] : 0;
            const std::uint64_t before = word >= 1 && word <= tap_words ? from[-1] : 0;
            const std::uint64_t both = here << 32 | before;
#pragma unroll
            for (int m = 0; m < 4; ++m) { tables[(4 * j + m) * table_words + i] = static_cast<unsigned>(both >> (32 - 8 * m)); }
        }
    }
}

/// What turned signs have made of every sum, to be added.
__device__ __forceinline__ std::int64_t added_by_signs(const TapDigits& taps, const unsigned* words) {
    const unsigned* const sums = words + taps.filter_words - 2;
    return static_cast<std::int64_t>(sums[0] | static_cast<std::uint64_t>(sums[1]) << 32);
}

/// What the powers of 256 add up to.
template <class Sum, int W>
__device__ __forceinline__ Sum joined_parts(const unsigned (&parts)[W], std::int64_t added) {
    Sum all = static_cast<Sum>(added);
#pragma unroll
    for (int w = 0; w < W && w < static_cast<int>(sizeof(Sum)); ++w) {
        all += static_cast<Sum>(static_cast<std::int64_t>(static_cast<int>(parts[w]))) << (8 * w);
    }
    return all;
}

}  // namespace tapline::cuda::integer
