// 10: images of any type, layout and size, many small ones too: several planes' windows in a block's shared memory as floats.
#pragma once

#include <climits>

#include "cuda/families/image_tiles/image_tiles.hpp"
#include "cuda/primitives/lines/lines.cuh"
#include "cuda/primitives/sliding_window.cuh"

namespace tapline::cuda::image_tiles_rung {

constexpr int kAbsent = INT_MIN;  // no sample: the constant stands there, or zero

/// A block's place.
struct Tile {
    std::int64_t x, y;   // outputs before it
    std::int64_t plane;  // the first
};

__device__ __forceinline__ Tile tile_of_block(const TileArguments& a) {
    const Cut& c = a.cut;
    std::int64_t rest = blockIdx.x;
    const auto take = [&](std::int64_t length) {
        const std::int64_t before = rest;
        rest = divide(rest, length);
        return before - rest * length;
    };
    std::int64_t group = c.groups_first != 0 ? take(c.groups) : 0;
    const std::int64_t tile_x = take(c.tiles_x);
    const std::int64_t tile_y = take(c.tiles_y);
    if (c.groups_first == 0) { group = rest; }
    return {tile_x * c.strips_x * kAcross, tile_y * c.strips_y * kDown, group * c.planes};
}

/// Elements from the first plane to another.
__device__ __forceinline__ std::int64_t plane_offset(const TileArguments& a, std::int64_t plane, std::int64_t image_step,
                                                     std::int64_t channel_step) {
    if (a.channels == 1) { return plane * image_step; }
    const std::int64_t image = divide(plane, a.channels);
    return image * image_step + (plane - image * a.channels) * channel_step;
}

/// Where the sample at `position` lies, in elements from sample in_first, which are few enough for 31 bits; kAbsent.
__device__ __forceinline__ int source_of(const Side& side, std::int64_t position) {
    if (position < side.in_first || position >= side.in_last) {
        position = near_boundary_index(side.boundary, position, side.n);
        // Where the sample is not there nobody asked for an output that needs it.
        if (position < side.in_first || position >= side.in_last) { return kAbsent; }
    }
    return static_cast<int>((position - side.in_first) * side.in_stride);
}

/// Where each row of the windows, of all planes, and each column comes from, in elements from the tile's first plane.
__device__ __forceinline__ void find_sources(const TileArguments& a, const Tile& tile, int* rows, int* columns) {
    const Cut& c = a.cut;
    const std::int64_t first = plane_offset(a, tile.plane, a.in_image, a.in_channel);
    for (int i = static_cast<int>(threadIdx.x); i < c.rows * c.planes; i += kThreads) {
        const int window = c.planes == 1 ? 0 : i / c.rows;
        const std::int64_t plane = tile.plane + window;
        int from = kAbsent;
        if (plane < a.planes) {
            from = source_of(a.y, a.y.first + tile.y - a.y.origin + (i - window * c.rows));
            if (from != kAbsent && window != 0) {
                from += static_cast<int>(plane_offset(a, plane, a.in_image, a.in_channel) - first);
            }
        }
        rows[i] = from;
    }
    for (int i = static_cast<int>(threadIdx.x); i < c.columns; i += kThreads) {
        columns[i] = source_of(a.x, tile.x - a.x.origin + i);
    }
}

/// kAcross neighbouring elements from any address of an element, as the two vectors of memory that they lie in.
template <class Raw>
struct Neighbours {
    using Vector = typename RawOf<kAcross* static_cast<int>(sizeof(Raw))>::Type;
    Vector vectors[2];
    int lead;  // elements of the first that come before them

    __device__ __forceinline__ void load(const Raw* from) {
        const auto address = reinterpret_cast<std::uintptr_t>(from);
        lead = static_cast<int>(address / sizeof(Raw) % kAcross);
        const auto* const aligned = reinterpret_cast<const Vector*>(from - lead);
        vectors[0] = aligned[0];
        vectors[1] = aligned[1];
    }
    __device__ __forceinline__ void get(Raw (&to)[kAcross]) const {
        if constexpr (sizeof(Raw) == 1) {
            const std::uint64_t both = vectors[0] | static_cast<std::uint64_t>(vectors[1]) << 32;
            const auto word = static_cast<std::uint32_t>(both >> (8 * lead));
            memcpy(to, &word, sizeof word);
        } else {
            const bool half = lead >= 2;
            const int bits = lead % 2 * 16;
            const std::uint64_t low = half ? vectors[0] >> 32 | vectors[1] << 32 : vectors[0];
            const auto next = static_cast<std::uint32_t>(half ? vectors[1] >> 32 : vectors[1]);
            const std::uint64_t four = bits == 0 ? low : low >> 16 | static_cast<std::uint64_t>(next) << 48;
            memcpy(to, &four, sizeof four);
        }
    }
};

/// Whether a block's window lies inside one image whose rows have their elements side by side, with a vector to spare at both ends.
__device__ __forceinline__ bool is_inside(const TileArguments& a, const Tile& tile) {
    const Cut& c = a.cut;
    const std::int64_t x = tile.x - a.x.origin;
    const std::int64_t y = a.y.first + tile.y - a.y.origin;
    return c.by_vectors != 0 && c.planes == 1 && x >= kAcross - 1 && x + kAcross * (c.group_columns + 1) <= a.x.n &&
           y >= a.y.in_first && y + c.rows <= a.y.in_last;
}

template <class X>
__device__ __forceinline__ void put_vector(X* to, const X (&from)[kAcross]) {
    constexpr int kVectors = kAcross * static_cast<int>(sizeof(X)) / 16;
    uint4 vectors[kVectors];
    memcpy(vectors, from, sizeof vectors);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) { reinterpret_cast<uint4*>(to)[v] = vectors[v]; }
}

/// A number as it comes, of four or eight bytes.
template <class X, class Raw>
__device__ __forceinline__ void copy_number_async(X* to, const Raw* from) {
    if constexpr (sizeof(X) == 8) {
        copy_8_async(to, from);
    } else {
        copy_4_async(to, from);
    }
}

/// Such a window as numbers X: of those that are as they come one element a thread, which lie where lanes meet in no bank; of
/// others kAcross neighbours.
template <class Raw, class X>
__device__ __forceinline__ void load_inside(const TileArguments& a, const Tile& tile, X* window) {
    constexpr int kAtOnce = kVectorsAtOnce;
    constexpr bool kAsTheyCome = sizeof(Raw) == sizeof(X);
    const Cut& c = a.cut;
    const int side = kAsTheyCome ? c.load_columns : c.group_columns;
    const int step_rows = kAsTheyCome ? c.load_rows : c.group_rows;
    const int row = static_cast<int>(threadIdx.x) / side;
    const int column = (static_cast<int>(threadIdx.x) - row * side) * (kAsTheyCome ? 1 : kAcross);
    if (row >= step_rows) { return; }
    const std::int64_t y = a.y.first + tile.y - a.y.origin - a.y.in_first + row;
    const Raw* from = static_cast<const Raw*>(a.in) + plane_offset(a, tile.plane, a.in_image, a.in_channel) + y * a.y.in_stride +
                      tile.x - a.x.origin + column;
    X* to = window + row * c.pitch + column;
    const std::int64_t step = step_rows * a.y.in_stride;
    const int to_step = step_rows * c.pitch;
    if constexpr (kAsTheyCome) {
        for (int more = 0; column + more < c.columns; more += side) {
            const Raw* source = from + more;
            X* target = to + more;
#pragma unroll 4
            for (int r = row; r < c.rows; r += step_rows) {
                copy_number_async(target, source);
                source += step;
                target += to_step;
            }
        }
    } else if constexpr (sizeof(Raw) < 4) {
#pragma unroll 1
        for (int r = row; r < c.rows; r += kAtOnce * c.group_rows) {
            Neighbours<Raw> held[kAtOnce];
#pragma unroll
            for (int u = 0; u < kAtOnce; ++u) {
                if (r + u * c.group_rows < c.rows) { held[u].load(from); }
                from += step;
            }
#pragma unroll
            for (int u = 0; u < kAtOnce; ++u) {
                if (r + u * c.group_rows < c.rows) {
                    Raw raw[kAcross];
                    X wide[kAcross];
                    held[u].get(raw);
                    widen_raw(a.input_type, raw, wide);
                    put_vector(to, wide);
                }
                to += to_step;
            }
        }
    }
}

/// Any window, one element after the other: lanes along rows, or down columns where those are what memory has side by side.
template <class Raw, class X>
__device__ __forceinline__ void load_elements(const TileArguments& a, const Tile& tile, X* window, const int* rows,
                                              const int* columns) {
    constexpr int kAtOnce = kElementsAtOnce;
    constexpr bool kAsTheyCome = sizeof(Raw) == sizeof(X) && std::is_integral_v<X>;
    const Cut& c = a.cut;
    const int thread = static_cast<int>(threadIdx.x);
    const Raw* const in = static_cast<const Raw*>(a.in) + plane_offset(a, tile.plane, a.in_image, a.in_channel);
    const X absent = static_cast<X>(a.absent);
    const int across = c.by_columns != 0 ? c.load_rows : c.load_columns;
    const int quotient = thread / across;
    const int rest = thread - quotient * across;
    const int row = c.by_columns != 0 ? rest : quotient;
    const int first = c.by_columns != 0 ? quotient : rest;
    if (row >= c.load_rows) { return; }
    const int all = c.rows * c.planes;
    const int to_step = c.load_rows * c.pitch;
    for (int column = first; column < c.columns; column += c.load_columns) {
        X* to = window + row * c.pitch + column;
        const int x = columns[column];
        if (x == kAbsent) {
            for (int r = row; r < all; r += c.load_rows, to += to_step) { *to = absent; }
            continue;
        }
        const Raw* const from = in + x;
        if (kAsTheyCome || (sizeof(Raw) == sizeof(X) && a.input_type == kOwnType<X>)) {
#pragma unroll 4
            for (int r = row; r < all; r += c.load_rows, to += to_step) {
                const int y = rows[r];
                if (y != kAbsent) {
                    copy_number_async(to, from + y);
                } else {
                    *to = absent;
                }
            }
            continue;
        }
        if constexpr (!kAsTheyCome) {
#pragma unroll 1
            for (int r = row; r < all; r += kAtOnce * c.load_rows) {
                Raw raw[kAtOnce] = {};
                int y[kAtOnce];
#pragma unroll
                for (int u = 0; u < kAtOnce; ++u) {
                    const int at = r + u * c.load_rows;
                    y[u] = at < all ? rows[at] : kAbsent;
                    if (y[u] != kAbsent) { raw[u] = from[y[u]]; }
                }
                X wide[kAtOnce];
                widen_raw(a.input_type, raw, wide);
#pragma unroll
                for (int u = 0; u < kAtOnce; ++u) {
                    if (r + u * c.load_rows < all) { *to = y[u] != kAbsent ? wide[u] : absent; }
                    to += to_step;
                }
            }
        }
    }
}

/// sum[r][i] += the sum over the mask's rows m and t < kTaps of taps[m * kChunkPitch + t] * window[(r + m) * pitch + i + t]: each
/// row of the window is loaded once, and waits in registers for the kDown rows of outputs that it belongs to. `skew`: as Cut::skew.
template <int kTaps, class X>
__device__ __forceinline__ void add_chunk(X (&sum)[kDown][kAcross], const X* window, int pitch, int skew, const X* taps,
                                          int mask_rows) {
    constexpr int kHeld = kTaps == 1 ? kAcross : 2 * kAcross;
    X held[kDown][kHeld];
    const auto load = [&](auto slot) {
        constexpr int s = decltype(slot)::value % kDown;
#pragma unroll
        for (int v = 0; v < kHeld; v += kAcross) {
            X vector[kAcross];
            load_taps(vector, window + v);
#pragma unroll
            for (int i = 0; i < kAcross; ++i) { held[s][v + i] = vector[i]; }
        }
        window += s == kDown - 1 ? pitch + skew : pitch;
    };
    for_turns<0, kDown - 1>(load);
    const auto add = [&](auto turn) {
        constexpr int m = decltype(turn)::value;
        load(std::integral_constant<int, m + kDown - 1>{});
        X tap[kChunkPitch];
        load_taps(tap, taps);
        taps += kChunkPitch;
#pragma unroll
        for (int r = 0; r < kDown; ++r) {
#pragma unroll
            for (int t = 0; t < kTaps; ++t) {
#pragma unroll
                for (int i = 0; i < kAcross; ++i) { multiply_add(sum[r][i], held[(m + r) % kDown][i + t], tap[t]); }
            }
        }
    };
    int left = mask_rows;
#pragma unroll 1
    for (; left >= kDown; left -= kDown) { for_turns<0, kDown>(add); }
    for_turns<0, kDown - 1>([&](auto turn) {
        constexpr int m = decltype(turn)::value;
        if (m < left) { add(turn); }
    });
}

/// A strip's sums become outputs, once for all types that these may have.
template <class X>
__device__ __forceinline__ void finish_strip(const TileArguments& a, X (&sum)[kDown][kAcross]) {
    if (a.common.plain_store) { return; }
#pragma unroll
    for (int i = 0; i < kDown * kAcross; ++i) { sum[i / kAcross][i % kAcross] = finish(a.common, sum[i / kAcross][i % kAcross]); }
}

/// A strip's outputs; `to`: the first.
template <class Raw, class X>
__device__ __forceinline__ void store_strip(const TileArguments& a, const X (&value)[kDown][kAcross], Raw* to, int rows,
                                            int columns) {
#pragma unroll
    for (int r = 0; r < kDown; ++r) {
        if (r < rows) {
            Raw raw[kAcross];
            narrow_real_to_raw(a.common.output_type, value[r], raw);
            store_neighbours(to, raw, a.cut.store_vectors != 0 && columns >= kAcross, columns, a.x.out_stride);
            to += a.y.out_stride;
        }
    }
}

/// A strip's sums. `from`: the first element of its window; taps as they lie in the table.
template <class X>
__device__ __forceinline__ void add_mask(const TileArguments& a, X (&sum)[kDown][kAcross], const X* from, const X* taps) {
    const int pitch = a.cut.pitch;
    const int skew = a.cut.skew;
    const int chunks = chunks_of(a.x.mask);
    const X* chunk = taps;
#pragma unroll 1
    for (int left = chunks - 1; left > 0; --left) {
        add_chunk<kChunk>(sum, from, pitch, skew, chunk, a.y.mask);
        from += kChunk;
        chunk += a.y.mask * kChunkPitch;
    }
    switch (a.x.mask - kChunk * (chunks - 1)) {
        case 1:
            add_chunk<1>(sum, from, pitch, skew, chunk, a.y.mask);
            break;
        case 2:
            add_chunk<2>(sum, from, pitch, skew, chunk, a.y.mask);
            break;
        case 3:
            add_chunk<3>(sum, from, pitch, skew, chunk, a.y.mask);
            break;
        case 4:
            add_chunk<4>(sum, from, pitch, skew, chunk, a.y.mask);
            break;
        default:
            add_chunk<5>(sum, from, pitch, skew, chunk, a.y.mask);
            break;
    }
}

/// A strip of outputs from its window to memory, unless it lies beside the output.
template <class X>
__device__ __forceinline__ void make_strip(const TileArguments& a, const Tile& tile, const X* window, const X* taps, int strip) {
    const Cut& c = a.cut;
    const int line = strip / c.strips_x;
    const int plane = line / c.strips_y;
    const int x = (strip - line * c.strips_x) * kAcross;
    const int y = (line - plane * c.strips_y) * kDown;
    const std::int64_t rows_left = a.y.outputs - tile.y - y;
    const std::int64_t columns_left = a.x.outputs - tile.x - x;
    if (tile.plane + plane >= a.planes || rows_left <= 0 || columns_left <= 0) { return; }

    X sum[kDown][kAcross] = {};
    add_mask(a, sum, window + (plane * c.rows + y) * c.pitch + x, taps);
    const std::int64_t to = plane_offset(a, tile.plane + plane, a.out_image, a.out_channel) + (tile.y + y) * a.y.out_stride +
                            (tile.x + x) * a.x.out_stride;
    finish_strip(a, sum);
    with_raw(a.output_bytes, [&](auto raw) {
        using Raw = decltype(raw);
        store_strip(a, sum, static_cast<Raw*>(a.out) + to, static_cast<int>(min(rows_left, std::int64_t{kDown})),
                    static_cast<int>(min(columns_left, std::int64_t{kAcross})));
    });
}

/// A block makes a tile of the same place in several planes. Its windows come to shared memory as numbers X, floats or integers
/// that wrap, with the boundary in place, found once for each row and each column; a thread makes strips of kDown x kAcross outputs
/// from there. kBlocks: of a multiprocessor.
template <int kBlocks, class X>
__global__ void __launch_bounds__(kThreads, kBlocks) image_tiles_kernel(const __grid_constant__ TileArguments a) {
    extern __shared__ __align__(128) char shared[];
    const Cut& c = a.cut;
    const Tile tile = tile_of_block(a);
    auto* const rows = reinterpret_cast<int*>(shared);
    int* const columns = rows + c.rows * c.planes;
    auto* const taps = reinterpret_cast<X*>(rows + (c.rows * c.planes + c.columns + 3) / 4 * 4);
    const int tap_numbers = chunks_of(a.x.mask) * a.y.mask * kChunkPitch;
    X* const window = taps + tap_numbers;
    const bool inside = is_inside(a, tile);
    if (!inside) { find_sources(a, tile, rows, columns); }
    for (int i = static_cast<int>(threadIdx.x); i < tap_numbers; i += kThreads) {
        taps[i] = __ldg(static_cast<const X*>(a.taps) + i);
    }
    if (!inside) { __syncthreads(); }
    with_raw(a.input_bytes, [&](auto raw) {
        using Raw = decltype(raw);
        if constexpr (sizeof(Raw) <= 4 || sizeof(X) == 8) {
            if (inside) {
                load_inside<Raw>(a, tile, window);
            } else {
                load_elements<Raw>(a, tile, window, rows, columns);
            }
        }
    });
    commit_copies();
    wait_copies<0>();
    __syncthreads();

#pragma unroll 1
    for (int strip = static_cast<int>(threadIdx.x); strip < c.strips_x * c.strips_y * c.planes; strip += kThreads) {
        make_strip(a, tile, window, taps, strip);
    }
}

}  // namespace tapline::cuda::image_tiles_rung
