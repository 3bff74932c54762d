// 21: up to a few hundred taps at the speed of the copy: products on tensor cores.
#pragma once

#include "cuda/families/tensor/tensor.hpp"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/matrix_fragments.cuh"
#include "cuda/primitives/slow_tile.cuh"

namespace tapline::cuda::tensor {

/// A tile's samples in shared memory, `size` of them, as memory has them: neighbours lie kApart elements from each other, backwards
/// (-1), side by side or with a gap between two.
template <class S, int kApart>
struct TileSamples {
    S* samples;
    int size;  // a multiple of a vector's

    [[nodiscard]] __device__ __forceinline__ S& operator[](int i) const {
        return samples[kApart == 1 ? i : kApart == 2 ? 2 * i : size - 1 - i];
    }
    /// Four, or eight, samples from number i on.
    [[nodiscard]] __device__ __forceinline__ uint4 vector(int i) const {
        if constexpr (kApart == -1) {
            const uint4 x = *reinterpret_cast<const uint4*>(samples + size - 4 - i);
            return uint4{x.w, x.z, x.y, x.x};
        } else if constexpr (kApart == 2) {
            const uint4 x = *reinterpret_cast<const uint4*>(samples + 2 * i);
            const uint4 y = *reinterpret_cast<const uint4*>(samples + 2 * i + 4);
            return uint4{x.x, x.z, y.x, y.z};
        } else {
            return *reinterpret_cast<const uint4*>(samples + i);
        }
    }
    /// Copies `count` whose first is at `from`, all of them, and of gaps one more, in the piece.
    __device__ __forceinline__ void copy(const S* from, int count, int lane) const {
        if constexpr (kApart == -1) {
            copy_inner(samples + size - count, from - (count - 1), count, lane);
        } else {
            copy_inner(samples, from, count, lane);
            if constexpr (kApart == 2) { copy_inner(samples + count, from + count, count, lane); }
        }
    }
    /// The same at an edge: sample `start` of the row is the first.
    __device__ __forceinline__ void fill(const Arguments& a, const S* row, std::int64_t start, int count, int lane) const {
        const std::int64_t length = a.in_last - a.in_first;
#pragma unroll 1
        for (int i = lane; i < count; i += 32) {
            if (start + i >= 0 && start + i < length) {
                copy_4_async(&(*this)[i], row + (start + i) * kApart);
            } else {
                (*this)[i] = sample_outside(a, row, a.in_first + start + i);
            }
        }
    }
};

/// A tile is a product of matrices: output 64 a + b = sum over m of X[a][m] T[m][b] with X[a][m] = sample 64 a + m, an
/// overlapping view of the samples as they lie, and T[m][b] = tap m - b. For the 16 columns 16 p .. 16 p + 15 of T the taps begin
/// at m = 16 p, so with m = 16 (p + u) + 0..15, u = 0 .. steps - 1, their fragments do not depend on p.
///
/// A float is two halves after scaling by a power of two, high and low: x h = xh hh + xh hl + xl hh; what is left out is 2^-22 of
/// the product. The scale of a tile puts its largest sample between 2^14 and 2^15, that of the taps their largest, so that nothing
/// overflows and what the halves cannot hold of any sample is less than 2^-39 of the largest. 16-bit samples are one half each.
///
/// One warp a tile, `run` tiles one after the other; while one is computed the samples of the next are copied. A block is one warp,
/// so that its place is free for another as soon as it is done.
/// Shared memory: the samples, then halves in rows of 64 with a pitch of 144 bytes (no bank conflicts for ldmatrix; the
/// outputs' stage afterwards), then taps as halves, twice: one copy is an element on, so that pairs from anywhere are words.
/// kApart: from a sample to the next in memory, and so in shared memory; halves lie in order.
template <class S, int kApart = 1>
__global__ void __launch_bounds__(32, kWarpsHeld)
    tensor_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Tiles g) {
    constexpr int V = kPerVector<S>;
    constexpr int kPieces = sizeof(S) == 4 ? 2 : 1;
    constexpr int kWhole = kWholeVectors<S>;
    constexpr int kHeld = kWhole + kMoreVectors<S>;
    constexpr int kVectorRows = 32 * V / kRow;  // rows of the matrix that one vector a lane fills
    const int lane = static_cast<int>(threadIdx.x);
    extern __shared__ __align__(128) char shared[];
    const TileSamples<S, kApart> samples{reinterpret_cast<S*>(shared), g.needed_halves};
    char* const halves = shared + g.samples_bytes;
    uint2* const tables = reinterpret_cast<uint2*>(halves + kPieces * g.halves_bytes);
    auto* const padded = reinterpret_cast<float*>(tables + 4 * g.tap_entries);
    const int end_of_samples = g.needed_halves / V;
    char* const lane_halves = halves + lane * V / kRow * kPitch + lane * V % kRow * 2;

    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * g.spacing;
    std::int64_t row = first / g.tiles;
    if (row >= a.rows) { return; }
    int tile = static_cast<int>(first - row * g.tiles);
    const auto taps_of = [&](std::int64_t of_row) {
        return reinterpret_cast<const float*>(static_cast<const char*>(a.taps) + of_row * a.taps_row_bytes);
    };
    const auto fill = [&](std::int64_t of_row, int of_tile, bool with_taps) {
        const S* in = static_cast<const S*>(a.in) + of_row * a.in_row;
        const std::int64_t start = g.start + static_cast<std::int64_t>(of_tile) * kTile;
        if (of_tile >= g.inner_first && of_tile < g.inner_last) {
            samples.copy(in + start * kApart, g.needed, lane);
        } else if constexpr (kApart != 1) {
            samples.fill(a, in, start, g.needed, lane);
        } else if (a.zero_vectors != 0 && g.start % V == 0) {
            // All at once, in the background as others: rows of 8,192 samples with 64 taps 281 us instead of 312. Eight at a time
            // the first tiles of all warps take 20 us.
            copy_or_zero_async(samples.samples, in, start, a.in_last - a.in_first, g.needed, lane);
        } else {
            fill_at_edge<S, true>(a, samples.samples, in, start, g.needed, lane);
        }
        if (with_taps) { copy_padded_taps(padded, taps_of(of_row), static_cast<int>(a.k), g.before, lane); }
        commit_copies();
    };
    clear_padded_taps(padded, g.steps, lane);
    __syncwarp();
    fill(row, tile, true);

    int tap_exponent = 0;
    bool new_taps = true;
    for (int left = g.run;;) {
        const float* taps = taps_of(row);
        wait_copies<0>();
        __syncwarp();
        if (new_taps) { tap_exponent = split_taps_to_halves(tables, g.tap_entries, padded, g.steps, lane); }
        // Samples that meet no tap of any output.
        if (lane < g.before) { samples[lane] = S{}; }
        if (g.end + lane < g.needed_halves) { samples[g.end + lane] = S{}; }
        __syncwarp();

        uint4 held[kHeld];
        float largest = 0;
#pragma unroll
        for (int v = 0; v < kHeld; ++v) {
            if (v < kWhole || v * 32 + lane < end_of_samples) {
                held[v] = samples.vector((v * 32 + lane) * V);
                largest = largest_of<S>(largest, held[v]);
            }
        }
        const int exponent = largest_exponent(largest);
        const bool finite = exponent != kNotFinite && tap_exponent != kNotFinite;
        const std::int64_t o = g.first_output + static_cast<std::int64_t>(tile) * kTile;  // from the job's first one
        S* const out = static_cast<S*>(a.out) + row * a.out_row + o;
        if (finite) {
            const float scale = power_of_two(kTopExponent - exponent);
#pragma unroll
            for (int v = 0; v < kHeld; ++v) {
                if (v < kWhole || v * 32 + lane < end_of_samples) {
                    store_halves<S>(lane_halves + v * kVectorRows * kPitch, g.halves_bytes, held[v], scale);
                }
            }
        } else {
            // Sums of products as they stand: NaN and infinity reach the outputs whose window holds them.
#pragma unroll 1
            for (int i = lane; i < kTile; i += 32) {
                if (o + i < 0 || o + i >= a.count) { continue; }
                float sum = 0;
                const TapRange met = taps_met(a, a.first - a.origin - a.in_first + o + i);
#pragma unroll 1
                for (std::int64_t t = met.begin; t < met.end; ++t) {
                    sum = fmaf(Element<S>::widen(samples[g.before + i + t]), taps[t], sum);
                }
                out[i] = Element<S>::narrow(finish(a, sum));
            }
        }
        __syncwarp();  // the samples are used up

        const std::int64_t row_before = row;
        row += g.step_rows;
        tile += g.step_tiles;
        if (tile >= static_cast<int>(g.tiles)) {
            tile -= static_cast<int>(g.tiles);
            ++row;
        }
        --left;
        const bool more = left > 0 && row < a.rows;
        new_taps = row != row_before && a.taps_row_bytes != 0;
        if (more) { fill(row, tile, new_taps); }

        if (finite) {
            float sum[8][4] = {};
            multiply_tile<kPieces>(sum, halves, g.halves_bytes, tables, g.tap_entries, g.steps, lane);
            scale_back(sum, exponent + tap_exponent - 2 * kTopExponent);
            if (!a.plain_store) {
#pragma unroll
                for (int n = 0; n < 8; ++n) {
#pragma unroll
                    for (int i = 0; i < 4; ++i) { sum[n][i] = finish(a, sum[n][i]); }
                }
            }
            __syncwarp();  // every lane has read the halves, which become the stage
            stage_fragments<S>(halves, sum, lane);
            __syncwarp();
            const int begin = o < 0 ? static_cast<int>(-o) : 0;
            const int end = a.count - o < kTile ? static_cast<int>(a.count - o) : kTile;
            store_staged<S>(out, halves, begin, end, lane);
            __syncwarp();
        }
        if (!more) { return; }
    }
}

}  // namespace tapline::cuda::tensor
