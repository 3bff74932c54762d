// Large segments by columns: samples with zeros around or apart in memory, and rows side by side, several together.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_large.hpp"
#include "cuda/families/overlap_save/large/with_neighbours.cuh"
#include "cuda/families/overlap_save/overlap_save_samples.cuh"

namespace tapline::cuda::overlap_save {

/// Where a segment's first sample lies, from the first one there is, and which of its samples are there and read.
struct ColumnSamples {
    std::int64_t start;
    int begin, end;
};
template <class Tile>
__device__ __forceinline__ ColumnSamples samples_of(const Tile& tile, int index) {
    const Arguments& a = tile.a;
    const LargeSegments& g = tile.g;
    const std::int64_t start = g.start + static_cast<std::int64_t>(index) * g.outputs;
    const int needed = g.used - (g.outputs - tile.wanted_of(index));
    const int begin = static_cast<int>(min(max(-start, std::int64_t{g.skip}), std::int64_t{needed}));
    const int end = static_cast<int>(min(max(a.in_last - a.in_first - start, std::int64_t{begin}), std::int64_t{needed}));
    return {start, begin, end};
}

/// Of any segment with zeros around, or that is not aligned: all at once, where one by one costs the latency of memory for each.
template <class Tile, class T>
__device__ __forceinline__ void load_with_zeros(const Tile& tile, T* re, T* im, int row, int index) {
    using S = typename Tile::Sample;
    constexpr int kM = Tile::kM;
    const Arguments& a = tile.a;
    const auto [start, begin, end] = samples_of(tile, index);
    const auto is_there = [begin = begin, end = end](int at) { return at >= begin && at < end; };
    const S* first = static_cast<const S*>(a.in) + row * a.in_row + start * a.in_sample;
    int own = tile.point_of(0);
    hide(first, own);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        const int at = own + Tile::offset_of(i);
        if constexpr (Tile::kComplex) {
            const S x = is_there(at) ? load_element(first + at * a.in_sample) : S{};
            re[i] = x.x;
            im[i] = x.y;
        } else {
            re[i] = is_there(at) ? Element<S>::widen(first[at * a.in_sample]) : T{};
            im[i] = is_there(at + kM) ? Element<S>::widen(first[(at + kM) * a.in_sample]) : T{};
        }
    }
}

/// Of rows together, whole elements, with zeros around.
template <class Tile, class T>
__device__ __forceinline__ void load_together(const Tile& tile, T* re, T* im, int row, int index) {
    using S = typename Tile::Sample;
    constexpr int kStep = Tile::kStride * Tile::kRow;
    const Arguments& a = tile.a;
    const auto [start, begin, end] = samples_of(tile, index);
    const auto length = static_cast<unsigned>(end - begin);
    const int first = tile.point_of(0) - begin;
    const S* from = static_cast<const S*>(a.in) + row * a.in_row + (start + tile.point_of(0)) * a.in_sample;
    const std::int64_t step = kStep * a.in_sample;
#pragma unroll
    for (int i = 0; i < Tile::kOwn; ++i) {
#pragma unroll
        for (int column = 0; column < Tile::kColumns; ++column) {
            const bool is_there = static_cast<unsigned>(first + i * kStep + column) < length;
            const S x = is_there ? load_of_64(from + column * a.in_sample) : S{};
            re[Tile::kOwn * column + i] = x.x;
            im[Tile::kOwn * column + i] = x.y;
        }
        from += step;
    }
}

/// Of rows together: outputs whose first one is `out`, of which `left` are wanted.
template <class Tile, class S, class T>
__device__ __forceinline__ void store_together(const Tile& tile, S* out, int left, const T* re, const T* im) {
    constexpr int kStep = Tile::kStride * Tile::kRow;
    const std::int64_t sample = tile.a.out_sample;
    const std::int64_t step = kStep * sample;
    fft::for_each_index<0, Tile::kOwn>([&](auto point) {
        constexpr int i = decltype(point)::value;
        fft::for_each_index<0, Tile::kColumns>([&](auto number) {
            constexpr int column = decltype(number)::value;
            constexpr int r = Tile::held(Tile::kOwn * column + i);
            if (left > i * kStep + column) { __stcg(out + column * sample, S{re[r], im[r]}); }
        });
        out += step;
    });
}

}  // namespace tapline::cuda::overlap_save
