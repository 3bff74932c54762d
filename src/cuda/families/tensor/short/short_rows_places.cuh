// Where the rows of a tile lie, and how a tile comes and goes in bulk.
#pragma once

#include "cuda/families/tensor/short/short_rows.hpp"
#include "cuda/primitives/bulk_copy.cuh"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::short_rows {

/// The first row of a tile, and what there is of it.
struct TilePlace {
    std::int64_t in, out;  // elements before it
    int recordings, channels;
    bool is_whole;  // comes and goes in bulk
};

template <bool kApart>
__device__ __forceinline__ TilePlace tile_place(const Arguments& a, const Shape& g, std::int64_t tile) {
    if constexpr (kApart) {
        const Apart& p = g.apart;
        const std::int64_t group = p.channel_tiles == 1 ? tile : divide(tile, p.channel_tiles);
        const std::int64_t recording = group * p.tile_recordings;
        const std::int64_t channel = (tile - group * p.channel_tiles) * p.tile_channels;
        return {recording * p.in_recording + channel * p.in_channel, recording * p.out_recording + channel * p.out_channel,
                static_cast<int>(min(p.recordings - recording, static_cast<std::int64_t>(p.tile_recordings))),
                static_cast<int>(min(p.channels - channel, static_cast<std::int64_t>(p.tile_channels))),
                recording + p.tile_recordings <= p.whole_recordings};
    } else {
        const std::int64_t row = tile * kTileRows;
        return {row * a.in_row, row * a.out_row, static_cast<int>(min(a.rows - row, static_cast<std::int64_t>(kTileRows))), 1,
                row + kTileRows <= a.rows};
    }
}

/// Row `number` of a tile's.
struct RowPlace {
    int recording, channel;
};
template <bool kApart>
__device__ __forceinline__ RowPlace row_place(const Shape& g, int number) {
    if constexpr (kApart) {
        const int recording = number / g.apart.tile_channels;
        return {recording, number - recording * g.apart.tile_channels};
    } else {
        return {number, 0};
    }
}

/// Elements before a row's first sample, or output, from the tile's first one: in a buffer the same.
template <bool kApart>
__device__ __forceinline__ std::int64_t in_place(const Arguments& a, const Shape& g, const RowPlace& row) {
    if constexpr (!kApart) { return row.recording * a.in_row; }
    return row.recording * g.apart.in_recording + row.channel * g.apart.in_channel;
}
template <bool kApart>
__device__ __forceinline__ std::int64_t out_place(const Arguments& a, const Shape& g, const RowPlace& row) {
    if constexpr (!kApart) { return row.recording * a.out_row; }
    return row.recording * g.apart.out_recording + row.channel * g.apart.out_channel;
}

/// A tile's runs of neighbouring bytes, so far from each other in memory: one, or one for each time of a part of a recording.
struct BulkRuns {
    int count;
    std::uint32_t bytes;
    std::int64_t step;  // elements
};
template <bool kApart>
__device__ __forceinline__ BulkRuns runs_of(const Shape& g, const TilePlace& tile, int size, std::int64_t recording,
                                            std::int64_t sample) {
    if constexpr (kApart) {
        if (g.apart.channel_tiles != 1) { return {size, static_cast<std::uint32_t>(4 * tile.channels), sample}; }
        return {1, static_cast<std::uint32_t>(4 * g.apart.tile_recordings * recording), 0};
    } else {
        return {1, static_cast<std::uint32_t>(kTileRows * 4 * size), 0};
    }
}

/// Elements from one sample, or output, of a row to the next: of channels of a part of a recording fewer in a buffer.
template <bool kApart>
struct Steps {
    static constexpr int in = 1, out = 1;
    __device__ __forceinline__ Steps(const Shape&, const TilePlace&, bool) {}
};
template <>
struct Steps<true> {
    int in, out;
    __device__ __forceinline__ Steps(const Shape& g, const TilePlace& tile, bool in_buffer) {
        const bool closer = in_buffer && g.apart.channel_tiles != 1;
        in = closer ? tile.channels : static_cast<int>(g.apart.in_sample);
        out = closer ? tile.channels : static_cast<int>(g.apart.out_sample);
    }
};

/// By a warpgroup's first warp, which has waited for its stores from the buffer.
template <bool kApart>
__device__ __forceinline__ void bring_tile(float* to, const Arguments& a, const Shape& g, const TilePlace& tile,
                                           CopyBarrier* arrived, int lane) {
    const auto* const from = static_cast<const float*>(a.in) + tile.in - (kApart ? g.apart.in_front : 0);
    const BulkRuns runs = runs_of<kApart>(g, tile, g.samples, g.apart.in_recording, g.apart.in_sample);
    if (lane == 0) { expect_copies(static_cast<std::uint32_t>(runs.count) * runs.bytes, arrived); }
    if constexpr (kApart) { __syncwarp(); }
    for (int i = lane; i < runs.count; i += 32) {
        start_copy(to + i * (runs.bytes / 4), from + i * runs.step, runs.bytes, arrived);
    }
}
template <bool kApart>
__device__ __forceinline__ void take_tile_away(const float* from, const Arguments& a, const Shape& g, const TilePlace& tile,
                                               int lane) {
    auto* const to = static_cast<float*>(a.out) + tile.out;
    const BulkRuns runs = runs_of<kApart>(g, tile, g.outputs, g.apart.out_recording, g.apart.out_sample);
    for (int i = lane; i < runs.count; i += 32) { store_bulk(to + i * runs.step, from + i * (runs.bytes / 4), runs.bytes); }
}

}  // namespace tapline::cuda::short_rows
