// The matrix of a filter for rows of one length: its entries, and as halves in shared memory.
#pragma once

#include "cuda/families/tensor/short/short_rows.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/matrix_fragments.cuh"
#include "cuda/primitives/sliding_window.cuh"
#include "cuda/primitives/warpgroup.cuh"

namespace tapline::cuda::short_rows {

/// Which of 16 samples, or outputs, is number i of a product's step: a thread has two pairs of them, which are neighbours if they
/// come and go as vectors; else the four threads of a row have neighbours at a time.
__device__ __forceinline__ int place_of(int i, bool by_vectors) {
    const int thread = i % 8 / 2;
    const int slot = i / 8 * 2 + i % 2;
    return by_vectors ? 4 * thread + slot : 4 * slot + thread;
}

/// Sum of the taps of output `output` that meet sample `at`, both of the whole row: several where the boundary repeats it.
__device__ __forceinline__ float entry(const Arguments& a, std::int64_t at, std::int64_t output) {
    const auto* const taps = static_cast<const float*>(a.taps);
    const std::int64_t first = output - a.origin;  // what tap 0 meets
    const std::int64_t last = first + a.k - 1;
    const auto tap_at = [&](std::int64_t position) {
        return position >= first && position <= last ? static_cast<double>(taps[position - first]) : 0.0;
    };
    if (a.boundary <= kConstant || (first >= 0 && last < a.n)) { return static_cast<float>(tap_at(at)); }
    double sum = 0;
    if (a.boundary == kNearest) {
        const std::int64_t from = at == 0 ? min(first, std::int64_t{0}) : at;
        const std::int64_t to = at == a.n - 1 ? max(last, at) : at;
#pragma unroll 1
        for (std::int64_t position = max(from, first); position <= min(to, last); ++position) { sum += tap_at(position); }
        return static_cast<float>(sum);
    }
    const std::int64_t period = a.boundary == kWrap ? a.n : a.boundary == kReflect ? 2 * a.n : max(2 * a.n - 2, std::int64_t{1});
    const std::int64_t turned = a.boundary == kReflect ? period - 1 - at : (period - at) % period;
    const bool twice = a.boundary != kWrap && turned != at;
    const auto add = [&](std::int64_t residue) {
        std::int64_t ahead = (residue - first) % period;
        if (ahead < 0) { ahead += period; }
#pragma unroll 1
        for (std::int64_t position = first + ahead; position <= last; position += period) { sum += tap_at(position); }
    };
    add(at);
    if (twice) { add(turned); }
    return static_cast<float>(sum);
}

/// T[sample][output], scaled, as halves, and behind them what is left of them, by the whole block; the exponent of its largest
/// entry. Piece (p, s), output chunk and step of 16 samples, is number p 2 kChunks + s.
template <int kChunks>
__device__ __forceinline__ int store_entries(char* to, float* largest_of_warps, const Arguments& a, const Shape& g, int thread) {
    constexpr int kSteps = 2 * kChunks;
    const auto step = static_cast<int>(blockDim.x);
    constexpr int kPairs = kSteps * 8 * kChunks * kChunk;
    // Pair e: samples 2 i and 2 i + 1 of a step, output `column` of a piece.
    const auto pair_of = [&](int e, float(&x)[2]) {
        const int i = e % 8 * 2;
        const int column = e / 8 % kChunk;
        const int piece = e / (8 * kChunk);
        const int output = piece / kSteps * kChunk + column / 16 * 16 + place_of(column % 16, g.out_vectors != 0);
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const int sample = piece % kSteps * 16 + place_of(i + j, g.in_vectors != 0);
            const bool exists = sample < g.samples && output < g.outputs;
            x[j] = exists ? entry(a, a.in_first + g.first_sample + sample, a.first + output) : 0;
        }
    };
    float largest = 0;
#pragma unroll 2
    for (int e = thread; e < kPairs; e += step) {
        float x[2];
        pair_of(e, x);
        largest = tensor::max_or_nan(tensor::max_or_nan(largest, x[0]), x[1]);
    }
    // As integers magnitudes have the same order, NaN last.
    unsigned bits = __float_as_uint(largest);
    for (int lanes = 16; lanes > 0; lanes /= 2) { bits = max(bits, __shfl_xor_sync(0xffffffffU, bits, lanes)); }
    if (thread % 32 == 0) { largest_of_warps[thread / 32] = __uint_as_float(bits); }
    __syncthreads();
    bits = 0;
    for (int warp = 0; warp < step / 32; ++warp) { bits = max(bits, __float_as_uint(largest_of_warps[warp])); }
    int exponent = static_cast<int>(bits >> 23) - 127;
    exponent = exponent == 128 ? tensor::kNotFinite : max(exponent, tensor::kTopExponent - 127);
    const float scale = tensor::power_of_two(tensor::kTopExponent - exponent);
#pragma unroll 2
    for (int e = thread; e < kPairs; e += step) {
        float x[2];
        pair_of(e, x);
        const int i = e % 8 * 2;
        const int column = e / 8 % kChunk;
        char* const at = to + e / (8 * kChunk) * (kPieceBytes / 2) + i / 8 * 512 + column / 8 * 128 + column % 8 * 16 + i % 8 * 2;
        tensor::split(x[0] * scale, x[1] * scale, *reinterpret_cast<unsigned*>(at),
                      *reinterpret_cast<unsigned*>(at + kChunks * kChunks * kPieceBytes));
    }
    return exponent;
}

}  // namespace tapline::cuda::short_rows
