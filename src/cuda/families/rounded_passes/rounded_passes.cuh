// Images of integers filtered down their columns, rounded, then along their rows, in one kernel: sums in whole numbers on tensor cores
// decide each output, and where they are too near to the next integer, the sum in double.
#pragma once

#include "cuda/families/bytes/byte_fragments.cuh"
#include "cuda/families/rounded_passes/rounded_passes.hpp"
#include "cuda/primitives/boundary.cuh"

namespace tapline::cuda::rounded_passes {

/// Bytes of a sample, those of a weight, and groups of outputs that a warp makes at a time. Sums of bytes of equal significance are
/// added up together: kLevels of them.
template <int kPlanes_, bool kWhole_>
struct Shape {
    static constexpr int kPlanes = kPlanes_;
    static constexpr bool kWhole = kWhole_;
    static constexpr int kParts = kWhole ? 1 : kPlanes + 2;
    static constexpr int kLevels = kPlanes + kParts - 1;
    static constexpr int kGroups = kPlanes == 1 ? 4 : 2;
};

/// A block's shared memory: samples, four rows a word; what is between the passes, row after row; outputs lie over the samples. Each
/// plane holds one byte of every sample.
struct Tile {
    std::uint8_t* samples;
    std::uint8_t* between;
    std::uint32_t* tables;
    double* weights;
    int sample_plane, between_plane;  // bytes
};
template <class S>
__device__ __forceinline__ Tile tile_of(const PassesArguments& a, char* shared) {
    Tile t{};
    t.weights = reinterpret_cast<double*>(shared);
    t.tables = reinterpret_cast<std::uint32_t*>(t.weights + 2 * kMostTaps);
    t.samples = reinterpret_cast<std::uint8_t*>(t.tables + 2 * S::kParts * a.table_words);
    t.sample_plane = a.in_pitch * a.in_rows;
    t.between_plane = a.out_pitch * a.tile_rows;
    t.between = t.samples + S::kPlanes * max(t.sample_plane, t.between_plane);
    return t;
}

/// Words of four places' bytes of a weight that begin at each place, from 7 before the first on, for every byte of the weights.
template <class S>
__device__ __forceinline__ void make_tables(const PassesArguments& a, const Tile& t) {
    auto* const raw = reinterpret_cast<std::uint32_t*>(t.between);  // until the tables are made
    for (int i = static_cast<int>(threadIdx.x); i < 2 * kMostTaps; i += kThreads) {
        raw[i] = a.parts[i / kMostTaps][i % kMostTaps];
        t.weights[i] = a.weights[i / kMostTaps][i % kMostTaps];
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < 2 * a.table_words; i += kThreads) {
        const int pass = i / a.table_words;
        const int word = i - pass * a.table_words;
        std::uint32_t made[kMostParts] = {};
#pragma unroll
        for (int b = 0; b < 4; ++b) {
            const int tap = word - (kGroup - 1) + b;
            const std::uint32_t parts = tap >= 0 && tap < a.pass[pass].taps ? raw[pass * kMostTaps + tap] : 0;
#pragma unroll
            for (int part = 0; part < S::kParts; ++part) { made[part] |= (parts >> (8 * part) & 255) << (8 * b); }
        }
#pragma unroll
        for (int part = 0; part < S::kParts; ++part) {
            t.tables[(pass * S::kParts + part) * a.table_words + word] = made[part];
        }
    }
}

/// Four samples from `at` on, an index of the image's row `row`: a word for each of their bytes.
template <class S>
__device__ __forceinline__ void load_four(const PassesArguments& a, std::int64_t image, int row, int at, std::uint32_t (&to)[2]) {
    if (row < 0) {
        to[0] = 0x01010101u * (a.constant & 255);
        to[1] = 0x01010101u * (a.constant >> 8);
        return;
    }
    constexpr int kBytes = S::kPlanes;
    const std::int64_t element = image + row * a.in_row + at;
    const auto address = reinterpret_cast<std::uintptr_t>(a.in) + static_cast<std::uintptr_t>(element * kBytes);
    const auto past = static_cast<unsigned>(address & 3);
    // The words of memory that hold them are inside the images.
    const int before = static_cast<int>(past) / kBytes;
    const bool words = at >= 0 && at + 4 <= a.columns && element >= before && element - before + 8 / kBytes + 4 <= a.in_elements;
    if (words) {
        const auto* const from = reinterpret_cast<const unsigned*>(address - past);
        if constexpr (kBytes == 1) {
            const unsigned low = __ldg(from);
            to[0] = past == 0 ? low : __funnelshift_r(low, __ldg(from + 1), 8 * past);
        } else {
            unsigned first = __ldg(from);
            unsigned second = __ldg(from + 1);
            if (past != 0) {
                const unsigned third = __ldg(from + 2);
                first = __funnelshift_r(first, second, 16);
                second = __funnelshift_r(second, third, 16);
            }
            to[0] = __byte_perm(first, second, 0x6420);
            to[1] = __byte_perm(first, second, 0x7531) ^ (a.flip >> 8) * 0x01010101u;
        }
        return;
    }
    to[0] = 0;
    to[1] = 0;
#pragma unroll 1
    for (int i = 0; i < 4; ++i) {
        int column = at + i;
        if (column < 0 || column >= a.columns) {
            column = static_cast<int>(boundary_index(a.pass[1].boundary, column, a.columns));
        }
        unsigned value = a.constant;
        if (column >= 0) {
            const std::int64_t from = image + row * a.in_row + column;
            if constexpr (kBytes == 1) {
                value = static_cast<const std::uint8_t*>(a.in)[from];
            } else {
                value = static_cast<const std::uint16_t*>(a.in)[from] ^ a.flip;
            }
        }
        to[0] |= (value & 255) << (8 * i);
        to[1] |= (value >> 8) << (8 * i);
    }
}

/// A tile's samples with their surroundings: 4 x 4 at a time change their order on the way.
template <class S>
__device__ __forceinline__ void load_tile(const PassesArguments& a, const Tile& t, std::int64_t image, int first_row,
                                          int first_column, int rows, int columns) {
    const int fours = (columns + 3) / 4;
    const int items = (rows + 3) / 4 * fours;
    for (int i = static_cast<int>(threadIdx.x); i < items; i += kThreads) {
        const int quad = i / fours;
        const int at = 4 * (i - quad * fours);
        std::uint32_t h[4][2];
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            int row = first_row + 4 * quad + r;
            if (row < 0 || row >= a.rows) { row = static_cast<int>(boundary_index(a.pass[0].boundary, row, a.rows)); }
            load_four<S>(a, image, row, first_column + at, h[r]);
        }
#pragma unroll
        for (int plane = 0; plane < S::kPlanes; ++plane) {
            const unsigned low[2] = {__byte_perm(h[0][plane], h[1][plane], 0x5140), __byte_perm(h[2][plane], h[3][plane], 0x5140)};
            const unsigned high[2] = {__byte_perm(h[0][plane], h[1][plane], 0x7362), __byte_perm(h[2][plane], h[3][plane], 0x7362)};
            *reinterpret_cast<uint4*>(t.samples + plane * t.sample_plane + 4 * (quad * a.in_pitch + at)) =
                uint4{__byte_perm(low[0], low[1], 0x5410), __byte_perm(low[0], low[1], 0x7632),
                      __byte_perm(high[0], high[1], 0x5410), __byte_perm(high[0], high[1], 0x7632)};
        }
    }
}

/// An output by its sum in double, of a line's window that begins at a place; of samples that are all the same without a sum.
template <class S, bool kDown>
__device__ __noinline__ int output_in_double(const PassesArguments& a, const Tile& t, int line, int place) {
    const PassArguments& pass = a.pass[kDown ? 0 : 1];
    const double* const weights = t.weights + (kDown ? 0 : kMostTaps);
    const auto sample = [&](int tap) {
        const int p = place + tap;
        const std::uint8_t* const at =
            kDown ? t.samples + 4 * (p / 4 * a.in_pitch + line) + p % 4 : t.between + line * a.out_pitch + p;
        int value = at[0];
        if constexpr (S::kPlanes == 2) { value += at[kDown ? t.sample_plane : t.between_plane] << 8; }
        return value - static_cast<int>(a.flip);
    };
    const int first = sample(0);
    int same = 1;
    while (same < pass.taps && sample(same) == first) { ++same; }
    double sum = first * pass.total;
    if (same < pass.taps) {
        sum = 0;
#pragma unroll 4
        for (int tap = 0; tap < pass.taps; ++tap) { sum = fma(weights[tap], static_cast<double>(sample(tap)), sum); }
    }
    return static_cast<int>(sum * (1 + kNudge));
}

/// The integer of a sum by its levels, and whether that is in doubt.
template <class S>
__device__ __forceinline__ int output_of(const PassesArguments& a, const PassArguments& pass, const unsigned (&level)[S::kLevels],
                                         bool& doubtful) {
    if constexpr (S::kWhole) {
        const unsigned sum = level[0] + (S::kPlanes == 2 ? level[S::kLevels - 1] << 8 : 0) + pass.offset;
        if (pass.inverse == 0) { return static_cast<int>(sum); }
        const bool negative = static_cast<int>(sum) < 0;
        const auto quotient = static_cast<int>(std::uint64_t{negative ? 0 - sum : sum} * pass.inverse >> 32);
        return negative ? -quotient : quotient;
    } else {
        unsigned sum = pass.offset;
        if constexpr (S::kPlanes == 1) {
            sum += level[0] + (level[1] << 8) + (level[2] << 16);
        } else {
            const int low = (static_cast<int>(level[1]) + (static_cast<int>(level[0]) >> 8)) >> 8;
            sum += (level[4] << 16) + (level[3] << 8) + level[2] + static_cast<unsigned>(low);
        }
        doubtful = (sum & ((1u << pass.fraction) - 1)) < pass.doubtful;
        if (a.flip == 0) { return static_cast<int>(sum >> pass.fraction); }
        return (static_cast<int>(sum) >> pass.fraction) + static_cast<int>(sum >> 31);
    }
}

/// One pass over a tile: lines are columns on the way down, rows along them. A warp takes 16 lines by some groups of places.
template <class S, bool kDown>
__device__ __forceinline__ void filter_lines(const PassesArguments& a, const Tile& t, int lines, int places, int first_column) {
    constexpr int kGroups = S::kGroups;
    const PassArguments& pass = a.pass[kDown ? 0 : 1];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int g = lane / 4;
    const int q = lane % 4;
    const std::uint32_t* const table = t.tables + (kDown ? 0 : S::kParts * a.table_words) + 4 * q - g + kGroup - 1;
    const auto* const words = reinterpret_cast<const std::uint32_t*>(kDown ? t.samples : t.between);
    const int plane_words = (kDown ? t.sample_plane : t.between_plane) / 4;
    const int by_line = kDown ? 1 : a.out_pitch / 4;
    const int by_word = kDown ? a.in_pitch : 1;
    std::uint8_t* const out = kDown ? t.between : t.samples;
    const int runs = (places + kGroup * kGroups - 1) / (kGroup * kGroups);
    const int units = (lines + kLines - 1) / kLines * runs;
    for (int unit = static_cast<int>(threadIdx.x) / 32; unit < units; unit += kWarps) {
        const int line = unit / runs * kLines + g;
        const int place = unit % runs * kGroup * kGroups;
        unsigned sums[S::kLevels][kGroups][4] = {};
        const std::uint32_t* own = words + line * by_line + (place / 4 + q) * by_word;
#pragma unroll 1
        for (int step = 0; step < pass.steps; ++step) {
            uint2 taps[S::kParts];
#pragma unroll
            for (int part = 0; part < S::kParts; ++part) {
                const std::uint32_t* const from = table + part * a.table_words + kStepTaps * step;
                taps[part] = {from[0], from[kStepTaps / 2]};
            }
#pragma unroll
            for (int group = 0; group < kGroups; ++group) {
#pragma unroll
                for (int plane = 0; plane < S::kPlanes; ++plane) {
                    const std::uint32_t* const from = own + plane * plane_words + 2 * group * by_word;
                    const unsigned held[4] = {from[0], from[8 * by_line], from[4 * by_word], from[8 * by_line + 4 * by_word]};
#pragma unroll
                    for (int part = 0; part < S::kParts; ++part) {
                        tensor::multiply_bytes<true>(sums[plane + part][group], held, taps[part]);
                    }
                }
            }
            own += kStepTaps / 4 * by_word;
        }
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int its_line = line + 8 * half;
                const int its_place = place + kGroup * group + 2 * q;
                unsigned made[2];
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    unsigned level[S::kLevels];
#pragma unroll
                    for (int l = 0; l < S::kLevels; ++l) { level[l] = sums[l][group][2 * half + i]; }
                    bool doubtful = false;
                    int value = output_of<S>(a, pass, level, doubtful);
                    if (!S::kWhole && doubtful && its_line < lines && its_place + i < places) {
                        value = output_in_double<S, kDown>(a, t, its_line, its_place + i);
                    }
                    made[i] = static_cast<unsigned>(value) ^ a.flip;
                }
                if constexpr (kDown) {
                    const int column = its_line - a.lead;
                    if (a.pass[1].boundary <= kConstant && a.pass[1].taps > 0) {
                        const int there = first_column + its_line;
                        if (there < 0 || there >= a.columns) { made[0] = made[1] = a.constant; }
                    }
                    if (column >= 0 && its_line < lines) {
                        std::uint8_t* const to = out + its_place * a.out_pitch + column;
#pragma unroll
                        for (int plane = 0; plane < S::kPlanes; ++plane) {
                            to[plane * t.between_plane] = static_cast<std::uint8_t>(made[0] >> (8 * plane));
                            to[plane * t.between_plane + a.out_pitch] = static_cast<std::uint8_t>(made[1] >> (8 * plane));
                        }
                    }
                } else {
#pragma unroll
                    for (int plane = 0; plane < S::kPlanes; ++plane) {
                        *reinterpret_cast<std::uint16_t*>(out + plane * t.between_plane + its_line * a.out_pitch + its_place) =
                            static_cast<std::uint16_t>((made[0] >> (8 * plane) & 255) | (made[1] >> (8 * plane) & 255) << 8);
                    }
                }
            }
        }
    }
}

/// A tile's outputs to where they belong, four a time, in words where memory has them.
template <class S>
__device__ __forceinline__ void store_tile(const PassesArguments& a, const Tile& t, const std::uint8_t* from, std::int64_t at,
                                           int rows, int columns) {
    constexpr int kBytes = S::kPlanes;
    const int fours = columns / 4 + 2;
    for (int i = static_cast<int>(threadIdx.x); i < rows * fours; i += kThreads) {
        const int row = i / fours;
        const std::int64_t element = at + row * a.out_row;
        const auto address = reinterpret_cast<std::uintptr_t>(a.out) + static_cast<std::uintptr_t>(element * kBytes);
        const int past = static_cast<int>(address & 3) / kBytes;
        const int first = 4 * (i - row * fours) - past;
        const std::uint8_t* const line = from + row * a.out_pitch;
        if (first >= 0 && first + 4 <= columns) {
            const auto* const words = reinterpret_cast<const unsigned*>(line) + first / 4;
            const auto four = [&](int plane) {
                const unsigned* const own = words + plane * t.between_plane / 4;
                return past == 0 ? own[0] : __funnelshift_r(own[0], own[1], 8 * static_cast<unsigned>(first % 4));
            };
            auto* const to = reinterpret_cast<unsigned*>(address + static_cast<std::uintptr_t>(first * kBytes));
            if constexpr (kBytes == 1) {
                to[0] = four(0);
            } else {
                const unsigned low = four(0);
                const unsigned high = four(1) ^ (a.flip >> 8) * 0x01010101u;
                to[0] = __byte_perm(low, high, 0x5140);
                to[1] = __byte_perm(low, high, 0x7362);
            }
            continue;
        }
        for (int k = max(first, 0); k < min(first + 4, columns); ++k) {
            if constexpr (kBytes == 1) {
                static_cast<std::uint8_t*>(a.out)[element + k] = line[k];
            } else {
                const unsigned value = line[k] | static_cast<unsigned>(line[t.between_plane + k]) << 8;
                static_cast<std::uint16_t*>(a.out)[element + k] = static_cast<std::uint16_t>(value ^ a.flip);
            }
        }
    }
}

/// A tile of an image.
template <class S>
__global__ void __launch_bounds__(kThreads) passes_kernel(const __grid_constant__ PassesArguments a) {
    extern __shared__ __align__(128) char shared[];
    const Tile t = tile_of<S>(a, shared);
    const unsigned of_image = static_cast<unsigned>(a.tiles_down) * static_cast<unsigned>(a.tiles_across);
    const std::int64_t image = blockIdx.x / of_image;
    const unsigned tile = blockIdx.x % of_image;
    const int row = static_cast<int>(tile / static_cast<unsigned>(a.tiles_across)) * a.tile_rows;
    const int column = static_cast<int>(tile % static_cast<unsigned>(a.tiles_across)) * a.tile_columns;
    const int rows = min(a.tile_rows, a.rows - row);
    const int columns = min(a.tile_columns, a.columns - column);
    const bool both = a.pass[1].taps > 0;
    const int lines = a.lead + columns + (both ? a.pass[1].taps - 1 : 0);
    const int first_column = column - (both ? a.pass[1].origin : 0) - a.lead;
    make_tables<S>(a, t);
    load_tile<S>(a, t, image * a.in_image, row - a.pass[0].origin, first_column, rows + a.pass[0].taps - 1, lines);
    __syncthreads();
    filter_lines<S, true>(a, t, lines, rows, first_column);
    __syncthreads();
    if (both) {
        filter_lines<S, false>(a, t, rows, columns, first_column);
        __syncthreads();
    }
    store_tile<S>(a, t, both ? t.samples : t.between, image * a.out_image + row * a.out_row + column, rows, columns);
}

}  // namespace tapline::cuda::rounded_passes
