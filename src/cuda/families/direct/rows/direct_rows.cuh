// 33: rows of any length one after the other on a line: a warp's tiles are stretches of it.
#pragma once

#include "cuda/families/direct/rows/direct_rows.hpp"
#include "cuda/families/direct/rows/line_window.cuh"

namespace tapline::cuda::rows {

/// Where on a line a tile begins: in row `row`, `at` places after its beginning.
struct Place {
    std::int64_t row, at;
    /// By so many places, which are `rows` rows and `rest` places.
    __device__ __forceinline__ void advance(std::int64_t pitch, std::int64_t rows, std::int64_t rest) {
        row += rows;
        at += rest;
        if (at >= pitch) {
            at -= pitch;
            ++row;
        }
    }
};

/// visit(row, at, begin, count): the parts of rows in a tile of `size` places, `begin` being a part's first place in the tile;
/// `most`: places of a row that hold anything.
template <class Visit>
__device__ __forceinline__ void for_each_row(const Place& place, std::int64_t rows, std::int64_t pitch, std::int64_t most, int size,
                                             const Visit& visit) {
    std::int64_t row = place.row;
    std::int64_t at = place.at;
    for (int begin = 0; begin < size && row < rows;) {
        const int places = static_cast<int>(min(pitch - at, static_cast<std::int64_t>(size - begin)));
        const int count = static_cast<int>(min(static_cast<std::int64_t>(places), most - at));
        if (count > 0) { visit(row, at, begin, count); }
        begin += places;
        at = 0;
        ++row;
    }
}

/// `length` elements side by side, by a warp: vectors of 16 bytes in the middle where both sides lie alike between them.
template <int kBytes, class Vector, class One>
__device__ __forceinline__ void copy_run(char* to, const char* from, int length, int lane, const Vector& copy_vector,
                                         const One& copy_one) {
    const int bytes = length * kBytes;
    int head = bytes;
    int end = bytes;
    if (past_16(to) == past_16(from)) {
        head = min((16 - past_16(from)) % 16, bytes);
        end = head + (bytes - head) / 16 * 16;
#pragma unroll 1
        for (int at = head + 16 * lane; at < end; at += 16 * 32) { copy_vector(to + at, from + at); }
    }
    // Ends of less than 16 bytes each, or all of it.
    for (int at = kBytes * lane; at < head; at += kBytes * 32) { copy_one(to + at, from + at); }
    const int last = end + kBytes * lane;
    if (last < bytes) { copy_one(to + last, from + last); }
}

/// visit(is_there, at, address, place) for the places of a tile of `size` that a lane of a warp has, neighbours having neighbouring
/// ones: what a row costs by itself is too much for short ones. is_there: the row exists; `at`:
/// places after its beginning, which has `address` in memory; `place`: in shared memory. `first_row`: the address of place 0 of row
/// 0.
struct PlaceSteps {
    std::int64_t in_memory, from_row;  // bytes
    int in_shared;
};
template <class Address, class Shared, class Visit>
__device__ __forceinline__ void for_each_place(const Place& tile, std::int64_t rows, int pitch, int size, int lane,
                                               Address first_row, Shared first_place, const PlaceSteps& steps, const Visit& visit) {
    Place own = tile;
    own.advance(pitch, lane / pitch, lane % pitch);
    auto at = static_cast<int>(own.at);
    auto rows_left = static_cast<int>(rows - own.row);
    Address address = first_row + own.row * steps.from_row + at * steps.in_memory;
    Shared place = first_place + lane * steps.in_shared;
    // 32 places are so many rows and so many places of one.
    const int step_rows = 32 / pitch;
    const int step_places = 32 - step_rows * pitch;
    const std::int64_t step = step_rows * steps.from_row + step_places * steps.in_memory;
    const std::int64_t step_to_row = step + steps.from_row - pitch * steps.in_memory;
#pragma unroll 4
    for (int u = lane; u < size; u += 32) {
        visit(rows_left > 0, at, address, place);
        at += step_places;
        const bool next = at >= pitch;
        address += next ? step_to_row : step;
        at -= next ? pitch : 0;
        rows_left -= step_rows + (next ? 1 : 0);
        place += 32 * steps.in_shared;
    }
}

/// A lane's places of a tile, neighbouring lanes having neighbouring ones: what a row costs by itself is too much for short ones.
struct OwnPlaces {
    int at;         // places after its row's beginning
    int rows_left;  // that exist from its row on
    int pitch, step_rows, step_places;
    std::int64_t row, from_row, step;  // its row's, from row to row, and of 32 places: bytes of memory

    /// `rows_step`: bytes from row to row.
    __device__ __forceinline__ OwnPlaces(const Place& tile, std::int64_t rows, int row_pitch, std::int64_t rows_step, int lane)
        : pitch(row_pitch), step_rows(32 / row_pitch), from_row(rows_step) {
        Place own = tile;
        own.advance(pitch, lane / pitch, lane % pitch);
        at = static_cast<int>(own.at);
        rows_left = static_cast<int>(rows - own.row);
        row = own.row * from_row;
        step_places = 32 - step_rows * pitch;
        step = step_rows * from_row;
    }
    __device__ __forceinline__ void advance() {
        at += step_places;
        const bool next = at >= pitch;
        at -= next ? pitch : 0;
        rows_left -= step_rows + (next ? 1 : 0);
        row += next ? step + from_row : step;
    }
};

/// Where the sample that a place of a short row reads lies, or that it reads none.
inline constexpr int kReadsNone = INT32_MIN;

/// Of each place of a row, by all threads of the block, which wait for it: elements from the row's sample in_first.
__device__ __forceinline__ void make_sources(const Arguments& a, const Line& g, std::int64_t first, int* sources, int threads) {
    const std::int64_t length = a.in_last - a.in_first;
    for (int at = static_cast<int>(threadIdx.x); at < static_cast<int>(g.pitch); at += threads) {
        std::int64_t position = first + at;
        if (position < 0 || position >= length) {
            position = near_boundary_index(a.boundary, a.in_first + position, a.n) - a.in_first;
        }
        // Where the sample is not there nobody asked for an output that needs it.
        const bool is_there = position >= 0 && position < length && at < a.count + a.k - 1;
        sources[at] = is_there ? static_cast<int>(position * a.in_sample) : kReadsNone;
    }
}

/// An element to shared memory, or a zero, which reads nothing.
template <int kBytes>
__device__ __forceinline__ void copy_or_zero(char* to, const char* from, bool copies) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (kBytes == 4 || kBytes == 8) {
        const auto place = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
        const int read = copies ? kBytes : 0;
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(place), "l"(from), "n"(kBytes), "r"(read) : "memory");
        return;
    }
#endif
    using Raw = typename RawOf<kBytes>::Type;
    Raw x{};
    if (copies) { x = *reinterpret_cast<const Raw*>(from); }
    *reinterpret_cast<Raw*>(to) = x;
}

/// Samples of a tile of short rows to `buffer`, a lane's places one after the other; as load_tile().
template <int kBytes, int kPart, class Index>
__device__ __forceinline__ void load_places(const Arguments& a, const Rows& rows, const Line& g, const Place& place,
                                            const char* samples, char* buffer, std::int64_t first, const int* sources, int size,
                                            int lane, const Index& index_of) {
    using Raw = typename RawOf<kBytes>::Type;
    Raw constant{};
    if (a.boundary == kConstant) { memcpy(&constant, rows.constant, kBytes); }
    const int step = (index_of(1) - index_of(0)) * kBytes;
    char* const first_place = buffer + index_of(0) * kBytes;
    if constexpr (kPart >= 4) {
        const auto slots = static_cast<int>(a.count + a.k) - 1;
        const auto begin = static_cast<int>(min(max(-first, std::int64_t{0}), std::int64_t{slots}));
        const auto end = static_cast<int>(min(max(a.in_last - a.in_first - first, std::int64_t{begin}), std::int64_t{slots}));
        const std::int64_t in_step = a.in_sample * kBytes;
        const PlaceSteps steps{in_step, rows.near.in * kBytes, step};
        for_each_place(place, rows.near.length, static_cast<int>(g.pitch), size, lane, samples + first * in_step, first_place,
                       steps, [&](bool is_there, int at, const char* from, char* to) {
                           bool copies = is_there && at >= begin && at < end;
                           if (!copies && a.boundary > kConstant && is_there) {
                               const int source = sources[at];
                               copies = source != kReadsNone;
                               from += (source - (first + at) * a.in_sample) * kBytes;
                           }
                           if (!copies && a.boundary == kConstant) {
                               *reinterpret_cast<Raw*>(to) = constant;
                               return;
                           }
#pragma unroll
                           for (int part = 0; part < kBytes; part += kPart) { copy_or_zero<kPart>(to + part, from + part, copies); }
                       });
    } else {
        constexpr int kAtOnce = 8;  // loads of a lane that are under way together
        OwnPlaces own(place, rows.near.length, static_cast<int>(g.pitch), rows.near.in * kBytes, lane);
#pragma unroll 1
        for (int u = lane; u < size; u += 32 * kAtOnce) {
            Raw x[kAtOnce];
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i) {
                const int source = sources[own.at];
                const bool copies = own.rows_left > 0 && source != kReadsNone && u + 32 * i < size;
                x[i] = constant;
                if (copies) { x[i] = *reinterpret_cast<const Raw*>(samples + own.row + source * kBytes); }
                own.advance();
            }
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i) {
                if (u + 32 * i < size) { *reinterpret_cast<Raw*>(first_place + (u + 32 * i) * step) = x[i]; }
            }
        }
    }
}

/// Samples of a tile to `buffer` as they lie; sample u of it at element index_of(u). `samples`: the address of the rows' sample
/// in_first; `first`: of a row's place 0, from there; `sources`: of places of short rows.
template <int kBytes, int kPart, class Index>
__device__ __forceinline__ void load_tile(const Arguments& a, const Rows& rows, const Line& g, const Place& place,
                                          const char* samples, char* buffer, std::int64_t first, const int* sources, int size,
                                          int lane, const Index& index_of) {
    const std::int64_t length = a.in_last - a.in_first;
    if (g.by_places != 0) {
        load_places<kBytes, kPart>(a, rows, g, place, samples, buffer, first, sources, size, lane, index_of);
        return;
    }
    for_each_row(
        place, rows.near.length, g.pitch, a.count + a.k - 1, size, [&](std::int64_t row, std::int64_t at, int begin, int count) {
            const std::int64_t position = first + at;
            const int there = static_cast<int>(min(max(-position, std::int64_t{0}), std::int64_t{count}));
            const int end = static_cast<int>(min(max(length - position, std::int64_t{there}), std::int64_t{count}));
            const char* const from = samples + row * rows.near.in * kBytes;
            if (there < end) {
                const int lowest = a.in_sample < 0 ? end - 1 : there;
                copy_run<kBytes>(
                    buffer + index_of(begin + lowest) * kBytes, from + (position + lowest) * a.in_sample * kBytes,
                    (end - there - 1) * g.step + 1, lane, [](char* to, const char* vector) { copy_16_async(to, vector); },
                    [](char* to, const char* one) {
#pragma unroll
                        for (int part = 0; part < kBytes; part += kPart) { copy_element_async<kPart>(to + part, one + part); }
                    });
            }
            if (there > 0 || end < count) {
                fill_outside<kBytes, kPart, true>(a, rows, from, position, there, end, count, {1, 0, false}, Team{lane, 32},
                                                  [&](int, int i) { return buffer + index_of(begin + i) * kBytes; });
            }
        });
}

/// Outputs of a tile from `stage` to their rows; `outputs`: the address of the rows' output 0.
template <int kBytes, int kPart>
__device__ __forceinline__ void store_tile(const Arguments& a, const Rows& rows, const Line& g, const Place& place, char* outputs,
                                           const char* stage, int size, int lane) {
    using Part = typename RawOf<kPart>::Type;
    if (g.by_places != 0) {
        const auto count = static_cast<int>(a.count);
        const bool back = a.out_sample < 0;
        const PlaceSteps steps{a.out_sample * kBytes, rows.near.out * kBytes, back ? -kBytes : kBytes};
        for_each_place(place, rows.near.length, static_cast<int>(g.pitch), size, lane, outputs,
                       stage + (back ? size - 1 : 0) * kBytes, steps, [&](bool is_there, int at, char* to, const char* from) {
                           if (!is_there || at >= count) { return; }
#pragma unroll
                           for (int part = 0; part < kBytes; part += kPart) {
                               *reinterpret_cast<Part*>(to + part) = *reinterpret_cast<const Part*>(from + part);
                           }
                       });
        return;
    }
    for_each_row(place, rows.near.length, g.pitch, a.count, size, [&](std::int64_t row, std::int64_t at, int begin, int count) {
        const int lowest = a.out_sample < 0 ? count - 1 : 0;
        char* const to = outputs + (row * rows.near.out + (at + lowest) * a.out_sample) * kBytes;
        const char* const from = stage + (a.out_sample < 0 ? size - begin - count : begin) * kBytes;
        copy_run<kBytes>(
            to, from, count, lane,
            [](char* there, const char* vector) {
                __stcs(reinterpret_cast<uint4*>(there), *reinterpret_cast<const uint4*>(vector));
            },
            [](char* there, const char* one) {
#pragma unroll
                for (int part = 0; part < kBytes; part += kPart) {
                    *reinterpret_cast<Part*>(there + part) = *reinterpret_cast<const Part*>(one + part);
                }
            });
    });
}

/// The sum of an output `at` places after its row's beginning without the terms that a zero boundary has not.
template <class X, class H>
__device__ __noinline__ X sum_at(const Arguments& a, const Line& g, const X* window, int step, const H* taps, std::int64_t first,
                                 std::int64_t at) {
    return sum_of_terms_there(a, window, step, taps, first + at % g.pitch);
}

/// A warp makes tiles of neighbouring outputs one after the other, the samples of the next one coming while it computes. They come
/// as runs of neighbouring bytes, forwards or backwards, with gaps or without, are widened in shared memory, and a lane makes O
/// neighbouring outputs from a window that slides along; they leave as runs. Rows may be longer than a tile or shorter: windows
/// never see two of them.
template <class X, class H>
__global__ void __launch_bounds__(32 * kWarps, 5)
    direct_rows_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Rows rows, const __grid_constant__ Line g) {
    constexpr int O = kOutputs<static_cast<int>(sizeof(X))>;
    constexpr int kTile = 32 * O;
    constexpr bool kComplex = kIsComplexElement<X>;
    extern __shared__ uint4 shared[];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int k = static_cast<int>(a.k);
    const int size = kTile + k - 1;  // places that a tile's windows read
    char* const memory = reinterpret_cast<char*>(shared) + warp * g.warp_bytes;
    H* const taps = reinterpret_cast<H*>(reinterpret_cast<char*>(shared) + g.taps_at);
    int* const sources = reinterpret_cast<int*>(reinterpret_cast<char*>(shared) + g.sources_at);
    const std::int64_t first = a.first - a.origin - a.in_first;
    if (g.by_places != 0) { make_sources(a, g, first, sources, 32 * kWarps); }
    const bool may_be_absent = bring_taps(a, taps, 32 * kWarps);
    const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp;
    if (number >= rows.tiles) { return; }

    const LineTile tile = line_tile(a, rows, a.tiles, number);
    const std::int64_t first_tile = tile.tile * g.tiles_of_warp;
    const int tiles = static_cast<int>(min(g.tiles - first_tile, static_cast<std::int64_t>(g.tiles_of_warp)));
    const char* const samples = static_cast<const char*>(a.in) + tile.in * rows.input_bytes;
    char* const outputs = static_cast<char*>(a.out) + tile.out * rows.output_bytes;
    Place place{divide(first_tile * kTile, g.pitch), 0};
    place.at = first_tile * kTile - place.row * g.pitch;
    const std::int64_t tile_rows = divide(kTile, g.pitch);
    const std::int64_t tile_rest = kTile - tile_rows * g.pitch;
    Place next = place;
    int front = 0;       // elements of the buffer before the tile's lowest
    int next_front = 0;  // of the tile that comes
    const bool backwards = a.in_sample < 0;
    const auto index_in = [&](int before, int u) { return g.front + before + (backwards ? size - 1 - u : u) * g.step; };

#pragma unroll 1
    for (int t = -1; t < tiles; ++t) {
        if (t + 1 < tiles) {
            char* const buffer = memory + ((t + 1) & 1) * g.buffer_bytes;
            const auto load = [&](auto bytes) {
                constexpr int kBytes = decltype(bytes)::value;
                constexpr int kPart = kComplex ? kBytes / 2 : kBytes;
                const std::int64_t lowest = first + next.at + (backwards ? size - 1 : 0);
                next_front = past_16(samples + (next.row * rows.near.in + lowest * a.in_sample) * kBytes) / kBytes;
                load_tile<kBytes, kPart>(a, rows, g, next, samples, buffer, first, sources, size, lane,
                                         [&](int u) { return index_in(next_front, u); });
            };
            if constexpr (kComplex) {
                load(std::integral_constant<int, sizeof(X)>{});
            } else {
                with_raw(rows.input_bytes, [&](auto raw) { load(std::integral_constant<int, sizeof(raw)>{}); });
            }
        }
        commit_copies();
        if (t >= 0) {
            wait_copies<1>();
            __syncwarp();
            char* const buffer = memory + (t & 1) * g.buffer_bytes;
            X* const sums = g.sums_at != 0 ? reinterpret_cast<X*>(memory + g.sums_at) : reinterpret_cast<X*>(buffer);
            if constexpr (!kComplex) {
                if (g.sums_at != 0) {
                    with_raw(rows.input_bytes, [&](auto raw) {
                        widen_all<X, sizeof(raw)>(sums, buffer, rows.input_type, g.in_elements, Team{lane, 32});
                    });
                    __syncwarp();
                }
            }
            const int step = backwards ? -g.step : g.step;
            const X* const window = sums + index_in(front, lane * O);
            X sum[O] = {};
            if (may_be_absent) {
#pragma unroll
                for (int i = 0; i < O; ++i) {
                    sum[i] = sum_at(a, g, window + i * step, step, taps, first, place.at + lane * O + i);
                }
            } else {
                convolve_line(sum, window, step, taps, k);
            }
            if (!a.plain_store) {
#pragma unroll
                for (int i = 0; i < O; ++i) { sum[i] = finish(a, sum[i]); }
            }
            __syncwarp();  // the samples are used up
            with_output<X>(a.output_type, rows.output_bytes, [&](auto element) {
                using Raw = decltype(element);
                constexpr int kBytes = sizeof(Raw);
                const bool back = a.out_sample < 0;
                const std::int64_t lowest = place.at + (back ? kTile - 1 : 0);
                Raw* const stage = reinterpret_cast<Raw*>(sums) +
                                   past_16(outputs + (place.row * rows.near.out + lowest * a.out_sample) * kBytes) / kBytes;
                Raw raw[O];
                narrow_to_raw(a.output_type, sum, raw);
#pragma unroll
                for (int i = 0; i < O; ++i) { stage[back ? kTile - 1 - lane * O - i : lane * O + i] = raw[i]; }
                __syncwarp();
                store_tile<kBytes, kComplex ? kBytes / 2 : kBytes>(a, rows, g, place, outputs, reinterpret_cast<const char*>(stage),
                                                                   kTile, lane);
            });
            __syncwarp();  // the outputs are gone
            place.advance(g.pitch, tile_rows, tile_rest);
        }
        front = next_front;
        next.advance(g.pitch, tile_rows, tile_rest);
    }
}

}  // namespace tapline::cuda::rows
