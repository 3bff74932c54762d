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

/// Elements from one sample, or output, of a row to the next, and before the first sample that is read: of channels of a part of a
/// recording fewer in a buffer.
template <bool kApart>
struct Steps {
    static constexpr int in = 1, out = 1;
    int front;
    __device__ __forceinline__ Steps(const Shape& g, const TilePlace&, bool) : front(g.first_sample) {}
};
template <>
struct Steps<true> {
    int in, out;
    std::int64_t front;
    __device__ __forceinline__ Steps(const Shape& g, const TilePlace& tile, bool in_buffer) {
        const bool closer = in_buffer && g.apart.channel_tiles != 1;
        in = closer ? tile.channels : static_cast<int>(g.apart.in_sample);
        out = closer ? tile.channels : static_cast<int>(g.apart.out_sample);
        front = closer ? 0 : g.first_sample * g.apart.in_sample;
    }
};

/// A tile that is one run of memory, by a thread that has waited for its stores from the buffer.
template <bool kApart>
__device__ __forceinline__ void bring_tile(float* to, const Arguments& a, const Shape& g, const TilePlace& tile,
                                           CopyBarrier* arrived) {
    const auto* const from = static_cast<const float*>(a.in) + tile.in - (kApart ? g.apart.in_front : 0);
    const std::int64_t elements = kApart ? g.apart.tile_recordings * g.apart.in_recording : kTileRows * g.samples;
    copy_bulk(to, from, static_cast<std::uint32_t>(4 * elements), arrived);
}
template <bool kApart>
__device__ __forceinline__ void take_tile_away(const float* from, const Arguments& a, const Shape& g, const TilePlace& tile) {
    const std::int64_t elements = kApart ? g.apart.tile_recordings * g.apart.out_recording : kTileRows * g.outputs;
    store_bulk(static_cast<float*>(a.out) + tile.out, from, static_cast<std::uint32_t>(4 * elements));
}

/// move(element of the buffer, of memory) for each vector of a part of a recording, by the warpgroup's threads: times so far from
/// each other in memory, one after the other in a buffer.
template <class Move>
__device__ __forceinline__ void for_each_vector(const TilePlace& tile, int times, std::int64_t step, int thread, const Move& move) {
    const int vectors = tile.channels / 4;
    for (int i = thread; i < times * vectors; i += tensor::kThreads) {
        const int time = tile.channels == kTileRows ? i / (kTileRows / 4) : i / vectors;
        move(4 * i, time * step + 4 * (i - time * vectors));
    }
}

/// As bring_tile() of channels of a part of a recording, by the warpgroup's threads, which end the group of copies. The copy engine
/// takes 60 cycles for a run of 256 bytes: (128, 200000) with 99 taps, H100, 226 us.
__device__ __forceinline__ void bring_channels(float* to, const Arguments& a, const Shape& g, const TilePlace& tile, int thread) {
    const float* const from = static_cast<const float*>(a.in) + tile.in + g.first_sample * g.apart.in_sample;
    for_each_vector(tile, g.samples, g.apart.in_sample, thread,
                    [&](int held, std::int64_t at) { copy_16_async(to + held, from + at); });
}
__device__ __forceinline__ void take_channels_away(const float* from, const Arguments& a, const Shape& g, const TilePlace& tile,
                                                   int thread) {
    float* const to = static_cast<float*>(a.out) + tile.out;
    for_each_vector(tile, g.outputs, g.apart.out_sample, thread, [&](int held, std::int64_t at) {
        __stcs(reinterpret_cast<float4*>(to + at), *reinterpret_cast<const float4*>(from + held));
    });
}

}  // namespace tapline::cuda::short_rows
