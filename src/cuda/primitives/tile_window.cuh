// Which samples a tile needs, and whether it is like most others.
#pragma once

#include "cuda/primitives/arguments.hpp"
#include "cuda/primitives/elements.cuh"

namespace tapline::cuda {

/// Elements from a 16-byte boundary to `address`: tiles of a row begin that much earlier, so that their windows are aligned.
/// -1: no whole number of elements.
template <class S>
__device__ __forceinline__ int alignment_shift(const S* address) {
    const auto bytes = reinterpret_cast<std::uintptr_t>(address) % 16;
    return bytes % sizeof(S) == 0 ? static_cast<int>(bytes / sizeof(S)) : -1;
}

/// The row of a block where rows are the grid's y and z.
__device__ __forceinline__ std::int64_t row_of_block() { return blockIdx.y + static_cast<std::int64_t>(blockIdx.z) * gridDim.y; }

/// What is the same for all of a row.
template <class S>
struct RowView {
    const S* in;  // sample in_first
    std::int64_t row;
    std::int64_t offset;  // from sample in_first to the sample that the first tap of the job's first output meets
    std::int64_t length;  // of the piece
    int shift;            // tiles begin so many outputs early, so that their windows are aligned
    bool fast_inside;     // plain layout and aligned: tiles inside the piece go the fast way
    bool fast_edges;      // the others too: beside the piece are zeros
};

template <class S>
__device__ __forceinline__ RowView<S> row_view(const Arguments& a, std::int64_t row, std::int64_t tap_first) {
    RowView<S> v;
    v.row = row;
    v.in = static_cast<const S*>(a.in) + v.row * a.in_row;
    v.offset = a.first - a.origin - a.in_first + tap_first;
    v.length = a.in_last - a.in_first;
    const int shift = alignment_shift(v.in + v.offset);
    v.shift = max(shift, 0);
    v.fast_edges = a.plain_layout && shift >= 0 && a.zero_vectors;
    v.fast_inside = a.plain_layout && shift >= 0 && a.exact_edges != kExact;
    return v;
}

/// Where the samples lie that a tile needs.
struct TileWindow {
    std::int64_t o;      // its first output, relative to the job's
    std::int64_t start;  // its first sample, from sample in_first
    bool fast;
    bool inside;
};

/// The window of the stretch that begins with output o, whose window has `size` samples.
template <class S>
__device__ __forceinline__ TileWindow tile_window_at(const RowView<S>& v, std::int64_t o, std::int64_t size) {
    TileWindow p;
    p.o = o;
    p.start = v.offset + o;
    p.inside = p.start >= 0 && p.start + size <= v.length;
    p.fast = p.inside ? v.fast_inside : v.fast_edges;
    return p;
}

/// The same of the index-th stretch of `outputs` outputs.
template <class S>
__device__ __forceinline__ TileWindow tile_window_of(const RowView<S>& v, std::int64_t index, int outputs, std::int64_t size) {
    return tile_window_at(v, index * outputs - v.shift, size);
}

}  // namespace tapline::cuda
