// Images of integers filtered down their columns, rounded, then along their rows, in one kernel: sums in whole numbers on tensor
// cores decide each output, those of the highest bytes of the weights, or where they are too near to the next integer, of all of
// them.
#pragma once

#include <climits>
#include <type_traits>

#include "cuda/families/bytes/byte_fragments.cuh"
#include "cuda/families/rounded_passes/rounded_passes.hpp"
#include "cuda/primitives/boundary.cuh"

namespace tapline::cuda::rounded_passes {

/// Bytes of a sample, those of a weight and how many of them, the highest, decide most outputs; groups of outputs that a warp makes
/// at a time. Sums of bytes of equal significance are added up together.
template <int kPlanes_, bool kWhole_>
struct Shape {
    static constexpr int kPlanes = kPlanes_;
    static constexpr bool kWhole = kWhole_;
    static constexpr int kAllParts = kWhole ? 1 : rounded_passes::kAllParts;
    static constexpr int kParts = parts_of(kPlanes, kWhole);
    static constexpr int kLevels = kPlanes + kParts - 1;
    static constexpr int kGroups = kPlanes == 1 ? 4 : 2;
};

/// A block's shared memory: samples, four rows a word; what is between the passes, row after row; outputs lie over the samples.
/// Each plane holds one byte of every sample.
struct Tile {
    std::uint8_t* samples;
    std::uint8_t* between;
    std::uint32_t* tables;
    int sample_plane, between_plane;  // bytes
};
template <class S>
__device__ __forceinline__ Tile tile_of(const PassesArguments& a, char* shared) {
    Tile t{};
    t.tables = reinterpret_cast<std::uint32_t*>(shared);
    t.samples = reinterpret_cast<std::uint8_t*>(t.tables + 2 * S::kParts * a.table_words);
    t.sample_plane = a.in_pitch * a.in_rows;
    t.between_plane = a.out_pitch * a.tile_rows;
    t.between = t.samples + S::kPlanes * max(t.sample_plane, t.between_plane);
    return t;
}

/// The highest bytes of the weights of both passes.
template <class S>
__device__ __forceinline__ void load_tables(const PassesArguments& a, const Tile& t) {
    const int words = S::kParts * a.table_words;
    for (int i = static_cast<int>(threadIdx.x); i < words; i += kThreads) {
        const int skipped = (S::kAllParts - S::kParts) * a.table_words;
        t.tables[i] = __ldg(a.tables + skipped + i);
        if (a.pass[1].taps > 0) { t.tables[words + i] = __ldg(a.tables + 2 * skipped + words + i); }
    }
}

/// 4 x 4 samples from memory that has the words they lie in: a word for each row's four bytes of a plane.
template <class S>
__device__ __forceinline__ void load_words(const PassesArguments& a, std::int64_t element, std::uint32_t (&to)[4][S::kPlanes]) {
    constexpr int kBytes = S::kPlanes;
    auto address = reinterpret_cast<std::uintptr_t>(a.in) + static_cast<std::uintptr_t>(element * kBytes);
    unsigned past[4];
    unsigned held[4][kBytes + 1];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        past[r] = static_cast<unsigned>(address & 3);
        const auto* const from = reinterpret_cast<const unsigned*>(address - past[r]);
#pragma unroll
        for (int w = 0; w <= kBytes; ++w) { held[r][w] = __ldg(from + w); }
        address += static_cast<std::uintptr_t>(a.in_row * kBytes);
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const unsigned first = __funnelshift_r(held[r][0], held[r][1], 8 * past[r]);
        if constexpr (kBytes == 1) {
            to[r][0] = first;
        } else {
            const unsigned second = __funnelshift_r(held[r][1], held[r][2], 8 * past[r]);
            to[r][0] = __byte_perm(first, second, 0x6420);
            to[r][1] = __byte_perm(first, second, 0x7531) ^ (a.flip >> 8) * 0x01010101u;
        }
    }
}

/// boundary_index() of 32 bits, without a call inside and up to a line's length outside.
__device__ __forceinline__ int near_index(Boundary boundary, int position, int n) {
    int index = position;
    if (position < 0 || position >= n) {
        if (boundary <= kConstant) { return -1; }
        const bool before = position < 0;
        index = before ? 0 : n - 1;  // nearest
        if (boundary == kReflect) { index = before ? -1 - position : 2 * n - 1 - position; }
        if (boundary == kMirror) { index = before ? -position : 2 * n - 2 - position; }
        if (boundary == kWrap) { index = before ? position + n : position - n; }
        if (index < 0 || index >= n) { index = static_cast<int>(boundary_index(boundary, position, n)); }
    }
    return index;
}

/// The same one by one, where some lie beyond the ends.
template <class S>
__device__ __forceinline__ void load_at_edge(const PassesArguments& a, std::int64_t image, int row, int column,
                                             std::uint32_t (&to)[4][S::kPlanes]) {
    constexpr int kBytes = S::kPlanes;
    using Sample = std::conditional_t<kBytes == 1, std::uint8_t, std::uint16_t>;
    int columns[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) { columns[i] = near_index(a.pass[1].boundary, column + i, a.columns); }
    unsigned values[4][4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int y = near_index(a.pass[0].boundary, row + r, a.rows);
        const Sample* const from = static_cast<const Sample*>(a.in) + image + y * a.in_row;
#pragma unroll
        for (int i = 0; i < 4; ++i) { values[r][i] = y >= 0 && columns[i] >= 0 ? __ldg(from + columns[i]) ^ a.flip : a.constant; }
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const unsigned low = values[r][0] | values[r][1] << 16;
        const unsigned high = values[r][2] | values[r][3] << 16;
#pragma unroll
        for (int plane = 0; plane < kBytes; ++plane) { to[r][plane] = __byte_perm(low, high, plane == 0 ? 0x6420 : 0x7531); }
    }
}

/// A tile's samples with their surroundings, 4 x 4 at a time: put(quad of rows, four columns, a word of each row and plane).
template <class S, class Put>
__device__ __forceinline__ void load_tile(const PassesArguments& a, std::int64_t image, int first_row, int first_column, int rows,
                                          int columns, const Put& put) {
    constexpr int kWordSamples = 4 / S::kPlanes;  // of a word of memory
    const int fours = (columns + 3) / 4;
    const int quads = (rows + 3) / 4;
    int quad = static_cast<int>(threadIdx.x) / fours;
    int four = static_cast<int>(threadIdx.x) - quad * fours;
    const int by_quad = kThreads / fours;
    const int by_four = kThreads - by_quad * fours;
    while (quad < quads) {
        const int row = first_row + 4 * quad;
        const int column = first_column + 4 * four;
        std::uint32_t h[4][S::kPlanes];
        const std::int64_t element = image + row * a.in_row + column;
        const bool inside = row >= 0 && row + 4 <= a.rows && column >= 0 && column + 4 <= a.columns;
        if (inside && element >= kWordSamples && element + 3 * a.in_row + 4 + kWordSamples <= a.in_elements) {
            load_words<S>(a, element, h);
        } else {
            load_at_edge<S>(a, image, row, column, h);
        }
        put(quad, four, h);
        quad += by_quad;
        four += by_four;
        if (four >= fours) {
            four -= fours;
            ++quad;
        }
    }
}

/// As the products want them: four rows a word, but where nothing is filtered down.
template <class S, bool kDown>
__device__ __forceinline__ void load_planes(const PassesArguments& a, const Tile& t, std::int64_t image, int first_row,
                                            int first_column, int rows, int columns) {
    load_tile<S>(a, image, first_row, first_column, rows, columns, [&](int quad, int four, const std::uint32_t(&h)[4][S::kPlanes]) {
#pragma unroll
        for (int plane = 0; plane < S::kPlanes; ++plane) {
            if (!kDown) {
#pragma unroll
                for (int r = 0; r < 4; ++r) {
                    *reinterpret_cast<std::uint32_t*>(t.between + plane * t.between_plane + (4 * quad + r) * a.out_pitch +
                                                      4 * four) = h[r][plane];
                }
                continue;
            }
            const unsigned low[2] = {__byte_perm(h[0][plane], h[1][plane], 0x5140), __byte_perm(h[2][plane], h[3][plane], 0x5140)};
            const unsigned high[2] = {__byte_perm(h[0][plane], h[1][plane], 0x7362), __byte_perm(h[2][plane], h[3][plane], 0x7362)};
            *reinterpret_cast<uint4*>(t.samples + plane * t.sample_plane + 4 * (quad * a.in_pitch + 4 * four)) =
                uint4{__byte_perm(low[0], low[1], 0x5410), __byte_perm(low[0], low[1], 0x7632),
                      __byte_perm(high[0], high[1], 0x5410), __byte_perm(high[0], high[1], 0x7632)};
        }
    });
}

/// Where a lane's words of a unit's lines are: `words` of its first line and four places.
struct Windows {
    const std::uint32_t* words;
    int by_line, by_word, by_plane;
};
__device__ __forceinline__ void load_windows(unsigned (&held)[4], const Windows& w, int plane, int word) {
    const std::uint32_t* const from = w.words + plane * w.by_plane + word * w.by_word;
    held[0] = from[0];
    held[1] = from[8 * w.by_line];
    held[2] = from[4 * w.by_word];
    held[3] = from[8 * w.by_line + 4 * w.by_word];
}

/// Two neighbouring places of a lane's word, of 16 bits each: those of the word's first half, or of its second one.
template <class S>
__device__ __forceinline__ unsigned two_samples(const unsigned (&words)[S::kPlanes], int half) {
    return __byte_perm(words[0], S::kPlanes == 2 ? words[S::kPlanes - 1] : 0, half == 0 ? 0x5140 : 0x7362);
}

/// What the outputs of a unit's groups are where the samples under each of its lines are the same, or rise alike under weights that
/// keep that: those of a lane's two lines at their first place (x, y), and what each further place adds (z, w); z is kNotEven
/// elsewhere.
constexpr int kNotEven = INT_MIN;
template <class S>
__device__ __noinline__ int4 even_outputs(const PassesArguments& a, int which, const Windows w) {
    const PassArguments& pass = a.pass[which];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int last = pass.taps + kGroup * S::kGroups - 2;  // place under the unit
    int made[2];
    int by[2];
    bool even = true;
    unsigned expected[2][2][2];  // of a lane's two words, two lines, halves of a word
#pragma unroll 1
    for (int first = 0; first <= last; first += kStepTaps) {
        const int word = first / 4;
        unsigned held[4][S::kPlanes] = {};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            // What is beyond the last place may not be there.
            if (first + 4 * (lane % 4) + kStepTaps / 2 * (i / 2) > last) { continue; }
#pragma unroll
            for (int plane = 0; plane < S::kPlanes; ++plane) {
                held[i][plane] = w.words[plane * w.by_plane + 8 * (i % 2) * w.by_line + (word + 4 * (i / 2)) * w.by_word];
            }
        }
        if (first == 0) {
#pragma unroll
            for (int line = 0; line < 2; ++line) {
                const unsigned two = __shfl_sync(~0u, two_samples<S>(held[line], 0), lane & ~3);
                const int base = static_cast<int>(two & 0xffff);
                by[line] = static_cast<int>(two >> 16) - base;
                made[line] = base + by[line] * pass.origin_of_even;
                const int end = base + by[line] * last;
                even = even && end >= 0 && end <= 0xffff && (by[line] == 0 || pass.keeps_lines != 0);
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int x = base + by[line] * (4 * (lane % 4) + 2 * half);
#pragma unroll
                    for (int v = 0; v < 2; ++v) {
                        const int at = x + by[line] * (kStepTaps / 2 * v);
                        expected[v][line][half] = (static_cast<unsigned>(at) & 0xffff) | static_cast<unsigned>(at + by[line]) << 16;
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int place = first + 4 * (lane % 4) + kStepTaps / 2 * (i / 2);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                unsigned& e = expected[i / 2][i % 2][half];
                even = even && (two_samples<S>(held[i], half) == e || place + 2 * half > last);
                const int rise = by[i % 2] * kStepTaps;
                e = ((e + static_cast<unsigned>(rise)) & 0xffff) | ((e >> 16) + static_cast<unsigned>(rise)) << 16;
            }
        }
    }
    return {made[0], made[1], __any_sync(~0u, !even) ? kNotEven : by[0], by[1]};
}

/// Four outputs of a lane by all bytes of the weights: within 2^-46 below an integer, or a few 10^-15 of it, a sum is that.
template <class S>
__device__ __noinline__ uint4 settled(const PassesArguments& a, int which, const Windows w) {
    constexpr int kParts = S::kAllParts;
    const PassArguments& pass = a.pass[which];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::uint32_t* const table = a.tables + which * kParts * a.table_words + 4 * (lane % 4) - lane / 4 + kGroup - 1;
    unsigned sums[S::kPlanes + kParts - 1][4] = {};
#pragma unroll 1
    for (int step = 0; step < pass.steps; ++step) {
#pragma unroll
        for (int plane = 0; plane < S::kPlanes; ++plane) {
            unsigned held[4];
            load_windows(held, w, plane, kStepTaps / 4 * step);
#pragma unroll
            for (int part = 0; part < kParts; ++part) {
                const std::uint32_t* const from = table + part * a.table_words + kStepTaps * step;
                tensor::multiply_bytes<true>(sums[plane + part], held, uint2{__ldg(from), __ldg(from + kStepTaps / 2)});
            }
        }
    }
    unsigned made[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        auto low = static_cast<std::int64_t>(static_cast<int>(sums[0][i]) >> 8);
        if constexpr (S::kPlanes == 2) { low = (low + static_cast<int>(sums[1][i])) >> 8; }
        auto sum = static_cast<std::uint64_t>(low) + pass.exact_offset;
#pragma unroll
        for (int l = S::kPlanes; l < S::kPlanes + kParts - 1; ++l) {
            const auto level = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<int>(sums[l][i])));
            sum += level << (8 * (l - S::kPlanes));
        }
        const bool negative = a.flip != 0 && static_cast<std::int64_t>(sum) < 0;
        const std::uint64_t magnitude = negative ? 2 * kSlack - sum : sum;
        const int bits = pass.fraction + 32;
        std::uint64_t nearest = ((magnitude >> (bits - 1)) + 1) >> 1;
        if (magnitude + nearest * pass.nudge < nearest << bits) { --nearest; }
        made[i] = static_cast<unsigned>(negative ? 0 - nearest : nearest);
    }
    return uint4{made[0], made[1], made[2], made[3]};
}

/// A sum of its levels, as it is stored behind the point or, of whole weights, divided.
template <class S>
__device__ __forceinline__ unsigned sum_of(const PassArguments& pass, const unsigned (&sums)[S::kLevels][S::kGroups][4], int group,
                                           int i) {
    if constexpr (S::kWhole) {
        return sums[0][group][i] + (S::kPlanes == 2 ? sums[S::kLevels - 1][group][i] << 8 : 0) + pass.offset;
    } else if constexpr (S::kPlanes == 1) {
        return (((sums[2][group][i] << 8) + sums[1][group][i]) << 8) + sums[0][group][i] + pass.offset;
    } else {
        const int low = (static_cast<int>(sums[1][group][i]) + (static_cast<int>(sums[0][group][i]) >> 8)) >> 8;
        return (((sums[4][group][i] << 8) + sums[3][group][i]) << 8) + sums[2][group][i] + static_cast<unsigned>(low) + pass.offset;
    }
}
template <class S>
__device__ __forceinline__ unsigned output_of(const PassesArguments& a, const PassArguments& pass, unsigned sum) {
    if constexpr (S::kWhole) {
        if (pass.inverse == 0) { return sum; }
        const bool negative = S::kPlanes == 2 && static_cast<int>(sum) < 0;
        const auto quotient = static_cast<unsigned>(std::uint64_t{negative ? 0 - sum : sum} * pass.inverse >> 32);
        return negative ? 0 - quotient : quotient;
    } else if constexpr (S::kPlanes == 1) {
        return sum >> pass.fraction;
    } else {
        if (a.flip == 0) { return sum >> pass.fraction; }
        return static_cast<unsigned>(static_cast<int>(sum) >> pass.fraction) + (sum >> 31);
    }
}

/// One pass over a tile: lines are columns on the way down, rows along them. A warp takes 16 lines by some groups of places.
template <class S, bool kDown>
__device__ __forceinline__ void filter_lines(const PassesArguments& a, const Tile& t, int lines, int places, int first_column) {
    constexpr int kGroups = S::kGroups;
    const PassArguments& pass = a.pass[kDown ? 0 : 1];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int q = lane % 4;
    const std::uint32_t* const table = t.tables + (kDown ? 0 : S::kParts * a.table_words) + 4 * q - lane / 4 + kGroup - 1;
    Windows w{};
    w.by_plane = (kDown ? t.sample_plane : t.between_plane) / 4;
    w.by_line = kDown ? 1 : a.out_pitch / 4;
    w.by_word = kDown ? a.in_pitch : 1;
    const auto* const words = reinterpret_cast<const std::uint32_t*>(kDown ? t.samples : t.between);
    std::uint8_t* const out = kDown ? t.between : t.samples;
    // Beyond the ends there is the constant before the second pass, not what the first one makes of it.
    const bool constant_ends = kDown && a.pass[1].taps > 0 && a.pass[1].boundary <= kConstant;
    const int runs = (places + kGroup * kGroups - 1) / (kGroup * kGroups);
    const int units = (lines + kLines - 1) / kLines * runs;
#pragma unroll 1
    for (int unit = static_cast<int>(threadIdx.x) / 32; unit < units; unit += kWarps) {
        const int of_lines = unit / runs;
        const int line = of_lines * kLines + lane / 4;
        const int place = (unit - of_lines * runs) * kGroup * kGroups;
        unsigned sums[S::kLevels][kGroups][4] = {};
        w.words = words + line * w.by_line + (place / 4 + q) * w.by_word;
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
                    unsigned held[4];
                    load_windows(held, w, plane, 2 * group + kStepTaps / 4 * step);
#pragma unroll
                    for (int part = 0; part < S::kParts; ++part) {
                        tensor::multiply_bytes<true>(sums[plane + part][group], held, taps[part]);
                    }
                }
            }
        }
        const int column = line - a.lead;
        std::uint8_t* to = out + (kDown ? (place + 2 * q) * a.out_pitch + column : line * a.out_pitch + place + 2 * q);
        const bool made_here[2] = {line < lines, line + 8 < lines};
        bool outside[2] = {false, false};
        if (constant_ends) {
            outside[0] = first_column + line < 0 || first_column + line >= a.columns;
            outside[1] = first_column + line + 8 < 0 || first_column + line + 8 >= a.columns;
        }
        const auto store = [&](const unsigned(&made)[4], int group) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const unsigned first = outside[half] ? a.constant : made[2 * half] ^ a.flip;
                const unsigned second = outside[half] ? a.constant : made[2 * half + 1] ^ a.flip;
#pragma unroll
                for (int plane = 0; plane < S::kPlanes; ++plane) {
                    const unsigned bytes = __byte_perm(first, second, plane == 0 ? 0x0040 : 0x0051);
                    if constexpr (kDown) {
                        std::uint8_t* const at = to + plane * t.between_plane + group * kGroup * a.out_pitch + 8 * half;
                        if (made_here[half] && column + 8 * half >= 0) {
                            at[0] = static_cast<std::uint8_t>(bytes);
                            at[a.out_pitch] = static_cast<std::uint8_t>(bytes >> 8);
                        }
                    } else {
                        *reinterpret_cast<std::uint16_t*>(to + plane * t.between_plane + 8 * half * a.out_pitch + group * kGroup) =
                            static_cast<std::uint16_t>(bytes);
                    }
                }
            }
        };
        unsigned doubts = 0;  // groups with an output in doubt
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
            unsigned made[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) { made[i] = sum_of<S>(pass, sums, group, i); }
            if constexpr (!S::kWhole) {
                const int up = 32 - pass.fraction;
                const bool here = place + kGroup * group + 2 * q < places;
                const bool doubtful = here && ((made_here[0] && min(made[0] << up, made[1] << up) < pass.doubtful) ||
                                               (made_here[1] && min(made[2] << up, made[3] << up) < pass.doubtful));
                doubts |= __any_sync(~0u, doubtful) ? 1u << group : 0;
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) { made[i] = output_of<S>(a, pass, made[i]); }
            store(made, group);
        }
        if constexpr (!S::kWhole) {
            int4 even{0, 0, kNotEven, 0};
            if (doubts != 0 && pass.keeps_flat != 0) { even = even_outputs<S>(a, kDown ? 0 : 1, w); }
            if (even.z != kNotEven) {
#pragma unroll
                for (int group = 0; group < kGroups; ++group) {
                    const int at = kGroup * group + 2 * q;
                    const auto of = [&](int first, int by) { return static_cast<unsigned>(first + by * at) ^ a.flip; };
                    store({of(even.x, even.z), of(even.x + even.z, even.z), of(even.y, even.w), of(even.y + even.w, even.w)},
                          group);
                }
                doubts = 0;
            }
#pragma unroll 1
            for (; doubts != 0; doubts &= doubts - 1) {
                const int group = __ffs(static_cast<int>(doubts)) - 1;
                Windows own = w;
                own.words += 2 * group * w.by_word;
                const uint4 all = settled<S>(a, kDown ? 0 : 1, own);
                store({all.x, all.y, all.z, all.w}, group);
            }
        }
    }
}

/// A tile's outputs to where they belong, four a time, in words where memory has them: four(row, first, plane) are a word of one
/// byte of each, one(row, column) is a single one.
template <int kBytes, class Four, class One>
__device__ __forceinline__ void store_tile(const PassesArguments& a, std::int64_t at, int rows, int columns, const Four& four,
                                           const One& one) {
    const int fours = columns / 4 + 2;
    int row = static_cast<int>(threadIdx.x) / fours;
    int item = static_cast<int>(threadIdx.x) - row * fours;
    const int by_row = kThreads / fours;
    const int by_item = kThreads - by_row * fours;
    for (; row < rows; row += by_row) {
        const std::int64_t element = at + row * a.out_row;
        const auto address = reinterpret_cast<std::uintptr_t>(a.out) + static_cast<std::uintptr_t>(element * kBytes);
        const int past = static_cast<int>(address & 3) / kBytes;
        const int first = 4 * item - past;
        if (first >= 0 && first + 4 <= columns) {
            auto* const to = reinterpret_cast<unsigned*>(address + static_cast<std::uintptr_t>(first * kBytes));
            if constexpr (kBytes == 1) {
                to[0] = four(row, first, 0);
            } else {
                const unsigned low = four(row, first, 0);
                const unsigned high = four(row, first, 1) ^ (a.flip >> 8) * 0x01010101u;
                to[0] = __byte_perm(low, high, 0x5140);
                to[1] = __byte_perm(low, high, 0x7362);
            }
        } else {
            for (int k = max(first, 0); k < min(first + 4, columns); ++k) {
                if constexpr (kBytes == 1) {
                    static_cast<std::uint8_t*>(a.out)[element + k] = static_cast<std::uint8_t>(one(row, k));
                } else {
                    static_cast<std::uint16_t*>(a.out)[element + k] = static_cast<std::uint16_t>(one(row, k) ^ a.flip);
                }
            }
        }
        item += by_item;
        if (item >= fours) {
            item -= fours;
            ++row;
        }
    }
}

template <class S>
__device__ __forceinline__ void store_planes(const PassesArguments& a, const Tile& t, const std::uint8_t* from, std::int64_t at,
                                             int rows, int columns) {
    const auto four = [&](int row, int first, int plane) {
        const auto* const words = reinterpret_cast<const unsigned*>(from + row * a.out_pitch + plane * t.between_plane) + first / 4;
        return first % 4 == 0 ? words[0] : __funnelshift_r(words[0], words[1], 8 * static_cast<unsigned>(first % 4));
    };
    const auto one = [&](int row, int k) {
        const std::uint8_t* const line = from + row * a.out_pitch + k;
        return S::kPlanes == 1 ? unsigned{line[0]} : line[0] | static_cast<unsigned>(line[t.between_plane]) << 8;
    };
    store_tile<S::kPlanes>(a, at, rows, columns, four, one);
}

/// A tile of an image.
template <class S>
__global__ void __launch_bounds__(kThreads, 3) passes_kernel(const __grid_constant__ PassesArguments a) {
    extern __shared__ __align__(128) char shared[];
    const Tile t = tile_of<S>(a, shared);
    const unsigned of_image = static_cast<unsigned>(a.tiles_down) * static_cast<unsigned>(a.tiles_across);
    const std::int64_t image = blockIdx.x / of_image;
    const unsigned tile = blockIdx.x % of_image;
    const int row = static_cast<int>(tile / static_cast<unsigned>(a.tiles_across)) * a.tile_rows;
    const int column = static_cast<int>(tile % static_cast<unsigned>(a.tiles_across)) * a.tile_columns;
    const int rows = min(a.tile_rows, a.rows - row);
    const int columns = min(a.tile_columns, a.columns - column);
    const bool along = a.pass[1].taps > 0;
    const int lines = a.lead + columns + (along ? a.pass[1].taps - 1 : 0);
    const int first_column = column - (along ? a.pass[1].origin : 0) - a.lead;
    load_tables<S>(a, t);
    if (a.pass[0].taps > 0) {
        load_planes<S, true>(a, t, image * a.in_image, row - a.pass[0].origin, first_column, rows + a.pass[0].taps - 1, lines);
        __syncthreads();
        filter_lines<S, true>(a, t, lines, rows, first_column);
    } else {
        load_planes<S, false>(a, t, image * a.in_image, row, first_column, rows, lines);
    }
    __syncthreads();
    if (along) {
        filter_lines<S, false>(a, t, rows, columns, first_column);
        __syncthreads();
    }
    store_planes<S>(a, t, along ? t.samples : t.between, image * a.out_image + row * a.out_row + column, rows, columns);
}

}  // namespace tapline::cuda::rounded_passes
