// The matrix of a filter for rows of one length: its entries, and as halves in shared memory.
#pragma once

#include "cuda/families/tensor/short/short_rows.hpp"
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

/// The sums of taps that T is made of. Of every output shared memory has its `first`: the sample that its tap 0 meets or, where a
/// boundary repeats samples with a period, that modulo the period.
struct Entries {
    const float* taps;
    Boundary boundary;
    int taps_count, n, period;

    __device__ __forceinline__ explicit Entries(const Arguments& a)
        : taps(static_cast<const float*>(a.taps)),
          boundary(a.boundary),
          taps_count(static_cast<int>(a.k)),
          n(static_cast<int>(a.n)),
          period(a.boundary == kWrap      ? n
                 : a.boundary == kReflect ? 2 * n
                                          : max(2 * n - 2, 1)) {}
    [[nodiscard]] __device__ __forceinline__ bool has_period() const {
        return boundary == kWrap || boundary == kReflect || boundary == kMirror;
    }
    [[nodiscard]] __device__ __forceinline__ int first_of(const Arguments& a, std::int64_t output) const {
        const std::int64_t first = output - a.origin;
        if (!has_period()) { return static_cast<int>(first); }
        const std::int64_t rest = first % period;
        return static_cast<int>(rest < 0 ? rest + period : rest);
    }
    /// Of sample `at` of the whole row, in double where several taps meet it.
    [[nodiscard]] __device__ __forceinline__ float sum(int at, int first) const {
        double all = 0;
        if (!has_period()) {
            const int t = at - first;
            if (boundary != kNearest || (at != 0 && at != n - 1)) { return t >= 0 && t < taps_count ? taps[t] : 0; }
            const int from = at == 0 ? 0 : max(t, 0);
            const int to = at == n - 1 ? taps_count : min(t + 1, taps_count);
#pragma unroll 1
            for (int i = from; i < to; ++i) { all += taps[i]; }
            return static_cast<float>(all);
        }
        const int turned = boundary == kReflect ? period - 1 - at : at == 0 ? 0 : period - at;
        const bool twice = boundary != kWrap && turned != at;
        int t = at - first + (at < first ? period : 0);
#pragma unroll 1
        for (; t < taps_count; t += period) { all += taps[t]; }
        t = turned - first + (turned < first ? period : 0);
#pragma unroll 1
        for (; twice && t < taps_count; t += period) { all += taps[t]; }
        return static_cast<float>(all);
    }
};

/// T[sample][output], scaled, as halves, and behind them what is left of them, by the whole block; the exponent of its largest
/// entry. Piece (p, s), output chunk and step of 16 samples, is number p 2 kChunks + s.
template <int kChunks>
__device__ __forceinline__ int store_entries(char* to, char* header, const Arguments& a, const Shape& g, int thread) {
    auto* const largest_of_warps = reinterpret_cast<float*>(header);
    auto* const firsts = reinterpret_cast<int*>(header + kFirstsAt);
    const Entries entries(a);
    constexpr int kSteps = 2 * kChunks;
    const int first_sample = static_cast<int>(a.in_first) + g.first_sample;
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
            x[j] = exists ? entries.sum(first_sample + sample, firsts[output]) : 0;
        }
    };
    for (int output = thread; output < g.outputs; output += step) { firsts[output] = entries.first_of(a, a.first + output); }
    __syncthreads();
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
