// 37: few taps over samples of 8 and 16 bits, whose sums are floats.
#pragma once

#include "cuda/families/direct/rows/direct_widened.hpp"
#include "cuda/families/direct/rows/few_window.cuh"
#include "cuda/primitives/lines/lines.cuh"
#include "cuda/primitives/store_tile.cuh"
#include "cuda/primitives/tile_window.cuh"
#include "cuda/primitives/zero_boundary.cuh"

namespace tapline::cuda::widened {

template <Dtype kType>
using RawType = typename RawOf<kType == kI8 || kType == kU8 ? 1 : 2>::Type;

/// 16 bytes of samples as floats.
template <Dtype kType>
struct Widened {
    __device__ __forceinline__ void operator()(float* to, uint4 samples) const {
        using Raw = RawType<kType>;
        constexpr int V = 16 / static_cast<int>(sizeof(Raw));
        Raw raw[V];
        memcpy(raw, &samples, sizeof raw);
        float x[V];
        widen_raw(kType, raw, x);
#pragma unroll
        for (int i = 0; i < V; ++i) { to[i] = x[i]; }
    }
};

/// The sum of an output whose window begins at sample `first` of the row's piece, term by term.
template <class Raw>
__device__ __noinline__ float sum_at(const Arguments& a, Dtype type, const Raw* row, std::int64_t first) {
    const auto* const taps = static_cast<const float*>(a.taps);
    const std::int64_t length = a.in_last - a.in_first;
    const TapRange met = taps_met(a, first);
    float sum = 0;
#pragma unroll 1
    for (std::int64_t t = met.begin; t < met.end; ++t) {
        std::int64_t at = first + t;
        float x = static_cast<float>(a.constant_real);
        if (at < 0 || at >= length) { at = near_boundary_index(a.boundary, a.in_first + at, a.n) - a.in_first; }
        if (at >= 0 && at < length) { x = load_any<float>(type, sizeof(Raw), row, at * a.in_sample); }
        sum = fmaf(x, taps[t], sum);
    }
    return sum;
}

/// A warp makes 512 neighbouring outputs of a row, a lane 16. Its windows are read straight from memory, 16 bytes at a time, and
/// widened on the way to registers; neighbouring lanes read overlapping vectors, which the L1 cache serves. Tiles begin where loads
/// are aligned; outputs are turned in shared memory and leave as whole lines.
template <Dtype kType, int kChunks>
__global__ void __launch_bounds__(kThreads)
    direct_widened_kernel(const __grid_constant__ Arguments a, const __grid_constant__ few::TapsByValue<float> values) {
    using Raw = RawType<kType>;
    constexpr int V = 16 / static_cast<int>(sizeof(Raw));
    constexpr int kWindow = kTile + kChunks * V;
    extern __shared__ uint4 shared[];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + warp;
    const RowView<Raw> row = row_view<Raw>(a, row_of_block(), 0);
    if (row.row >= a.rows || tile >= a.tiles) { return; }
    const TileWindow p = tile_window_of(row, tile, kTile, kWindow);
    if (!row.fast_inside) {
        auto* const out = static_cast<float*>(a.out) + row.row * a.out_row;
        const std::int64_t end = min(p.o + kTile, a.count);
#pragma unroll 1
        for (std::int64_t o = max(p.o, std::int64_t{0}) + lane; o < end; o += 32) {
            out[o * a.out_sample] = finish(a, sum_at(a, kType, row.in, row.offset + o));
        }
        return;
    }
    const std::int64_t first = p.start + lane * kOutputs;
    const Raw* const in = row.in + first;
    float sum[kOutputs] = {};
    const auto convolve = [&](const auto& vector) {
        few::convolve_few<V, 1, kChunks>(sum, values, static_cast<int>(a.k), vector, Widened<kType>{});
    };
    if (p.inside) {
        convolve([&](int v) { return reinterpret_cast<const uint4*>(in)[v]; });
    } else {
        convolve([&](int v) {
            const std::int64_t at = first + v * V;
            if (at >= 0 && at + V <= row.length) { return reinterpret_cast<const uint4*>(in)[v]; }
            const bool zeros = a.boundary == kZero && (at + V <= 0 || at >= row.length);
            return zeros ? uint4{} : few::vector_at_edge(a, kType, row.in, at);
        });
    }
    store_tile<float, kOutputs / 4>(a, row.row, p.o, sum, reinterpret_cast<float*>(shared) + warp * kTile, lane);
}

}  // namespace tapline::cuda::widened
