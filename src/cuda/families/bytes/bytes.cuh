// 36: bytes filtered to bytes, each output the rounding of the sum in double: sums in whole numbers on tensor cores decide it, and
// where they are too near to the next integer, the sum itself.
#pragma once

#include "cuda/families/bytes/byte_fragments.cuh"
#include "cuda/families/bytes/bytes.hpp"
#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::bytes_rung {

/// Where a block's outputs begin.
struct Corner {
    std::int64_t line, output;
    int lines, outputs;
};
__device__ __forceinline__ Corner corner_of_block(const BytesArguments& a, bool across) {
    // Neighbouring blocks read what memory has side by side; the last tiles of lines come first, as edges take longer.
    const auto tiles = static_cast<unsigned>(a.tiles);  // there are no more than blocks
    const unsigned by = across ? static_cast<unsigned>((a.lines + kLines - 1) / kLines) : tiles;
    const unsigned outer = blockIdx.x / by;
    const unsigned inner = blockIdx.x - outer * by;
    Corner c{};
    c.line = std::int64_t{across ? inner : outer} * kLines;
    const unsigned tile = across ? outer : inner;
    c.output = std::int64_t{(tile == 0 ? tiles : tile) - 1} * kOutputs;
    c.lines = static_cast<int>(min(a.lines - c.line, std::int64_t{kLines}));
    c.outputs = static_cast<int>(min(a.outputs - c.output, std::int64_t{kOutputs}));
    return c;
}

/// Four bytes that begin anywhere; the words of memory that hold them exist.
__device__ __forceinline__ unsigned word_from(const std::uint8_t* from) {
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    const auto* const words = reinterpret_cast<const unsigned*>(address & ~std::uintptr_t{3});
    const unsigned shift = static_cast<unsigned>(address & 3) * 8;
    const unsigned low = words[0];
    return shift == 0 ? low : __funnelshift_r(low, words[1], shift);
}

/// Bytes [begin, end) of a block's lines, multiples of 4, a warp a line: vectors that begin on 16 bytes, or words that lie
/// anywhere.
template <int kPitch>
__device__ __forceinline__ void load_vectors(const BytesArguments& a, const Corner& c, const std::uint8_t* from, int begin, int end,
                                             std::uint8_t* samples) {
    const int thread = static_cast<int>(threadIdx.x);
    const int at = 16 * (thread % 16);
    if (at < begin || at >= end) { return; }
    from += thread / 16 * a.in_line + at;
    std::uint8_t* to = samples + thread / 16 * kPitch + at;
#pragma unroll
    for (int line = thread / 16; line < kLines; line += kThreads / 16) {
        if (line < c.lines) { copy_16_async(to, from); }
        from += kThreads / 16 * a.in_line;
        to += kThreads / 16 * kPitch;
    }
}
template <int kPitch>
__device__ __forceinline__ void load_words(const BytesArguments& a, const Corner& c, const std::uint8_t* from, int begin, int end,
                                           std::uint8_t* samples) {
    static_assert(kPitch <= 2 * 128);
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int at = begin + 4 * (static_cast<int>(threadIdx.x) % 32);
    from += warp * a.in_line + at;
    auto* to = reinterpret_cast<unsigned*>(samples + warp * kPitch + at);
#pragma unroll 4
    for (int line = warp; line < kLines; line += kWarps) {
        if (line < c.lines && at < end) { to[0] = word_from(from); }
        if (line < c.lines && at + 128 < end) { to[32] = word_from(from + 128); }
        from += kWarps * a.in_line;
        to += kWarps * kPitch / 4;
    }
}

/// A block's lines of samples, from `first` on, side by side in memory: vectors or words, then the samples that lie in none.
template <int kSteps>
__device__ __forceinline__ void load_lines(const BytesArguments& a, const Corner& c, std::int64_t first, std::uint8_t* samples) {
    constexpr int kPitch = 4 * pitch_words(kSteps, false);
    static_assert(kPitch / 16 <= 16);
    first -= a.ahead;
    const int thread = static_cast<int>(threadIdx.x);
    // Bytes [begin, end) come by units that have memory of their own, words with those that they lie across.
    const auto bytes_before = [&](std::int64_t position, int unit) {
        return static_cast<int>(min(max(position - first, std::int64_t{0}), std::int64_t{kPitch})) / unit * unit;
    };
    int begin = kPitch;
    int end = kPitch;
    const std::uint8_t* const line_0 = a.in + c.line * a.in_line + (first - a.in_first);
    if (a.loads == Loads::aligned && first >= a.in_first && first + kPitch <= a.in_last) {
        load_vectors<kPitch>(a, c, line_0, 0, kPitch, samples);
        commit_copies();
        return wait_copies<0>();
    }
    if (a.loads == Loads::aligned) {
        begin = bytes_before(a.in_first + 15, 16);
        end = max(bytes_before(a.in_last, 16), begin);
        load_vectors<kPitch>(a, c, line_0, begin, end, samples);
    } else if (a.loads == Loads::anywhere) {
        begin = bytes_before(a.in_first + 6, 4);
        end = max(bytes_before(a.in_last - 4, 4), begin);
        load_words<kPitch>(a, c, line_0, begin, end, samples);
    }
    commit_copies();
    const int others = begin + kPitch - end;
#pragma unroll 1
    for (int i = thread % 32; i < others; i += 32) {
        const int at = i < begin ? i : i - begin + end;
        std::int64_t position = first + at;
        if (position < a.in_first || position >= a.in_last) { position = near_boundary_index(a.boundary, position, a.n); }
        const bool there = position >= a.in_first && position < a.in_last;
        const std::uint8_t* const from = a.in + c.line * a.in_line + (position - a.in_first) * a.in_step;
#pragma unroll 8
        for (int line = thread / 32; line < kLines; line += kWarps) {
            samples[line * kPitch + at] = there && line < c.lines ? from[line * a.in_line] : a.constant;
        }
    }
    wait_copies<0>();
}

/// Four rows of four samples become four columns.
__device__ __forceinline__ void turn_4_by_4(unsigned* to, int pitch, const unsigned (&h)[4]) {
    const unsigned low[2] = {__byte_perm(h[0], h[1], 0x5140), __byte_perm(h[2], h[3], 0x5140)};
    const unsigned high[2] = {__byte_perm(h[0], h[1], 0x7362), __byte_perm(h[2], h[3], 0x7362)};
    to[0] = __byte_perm(low[0], low[1], 0x5410);
    to[pitch] = __byte_perm(low[0], low[1], 0x7632);
    to[2 * pitch] = __byte_perm(high[0], high[1], 0x5410);
    to[3 * pitch] = __byte_perm(high[0], high[1], 0x7632);
}

/// A sample of four lines, of which not all may exist.
__device__ __noinline__ unsigned word_of_lines(const std::uint8_t* from, std::int64_t by_line, int lines) {
    unsigned word = 0;
    for (int i = 0; i < min(lines, 4); ++i) { word |= static_cast<unsigned>(from[i * by_line]) << (8 * i); }
    return word;
}

/// The same where lines lie side by side: 4 x 4 samples at a time change their order in registers. A warp takes 8 fours of lines by
/// 4 of places at a time.
template <int kSteps>
__device__ __forceinline__ void load_across(const BytesArguments& a, const Corner& c, std::int64_t first, unsigned* words) {
    constexpr int kPitch = pitch_words(kSteps, true);
    constexpr int kQuads = window_words(kSteps);  // of places
    constexpr int kTurns = (kQuads + 3) / 4 * 2;
    constexpr int kOwnTurns = (kTurns + kWarps - 1) / kWarps;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int line = (warp % 2 * 8 + lane % 8) * 4;
    const int first_quad = warp / 2 * 4 + lane / 8;
    const std::uint8_t* const own = a.in + (c.line + line) * a.in_line;
    unsigned* const to = words + line * kPitch + first_quad;
    static_assert(kWarps == 4);
    // Words that lie anywhere: those of memory that they lie across are in the row or in the next one.
    const bool aligned = a.loads == Loads::aligned;
    const bool inside =
        a.loads != Loads::bytes && c.lines == kLines && first >= a.in_first && first + 4 * kQuads <= a.in_last - (aligned ? 0 : 1);
    unsigned held[kOwnTurns][4];
    const auto load_inside = [&](const auto& load) {
        const std::uint8_t* from = own + (first - a.in_first + 4 * first_quad) * a.in_step;
#pragma unroll
        for (int turn = 0; turn < kOwnTurns; ++turn) {
            if (first_quad + 8 * turn < kQuads) {
#pragma unroll
                for (int r = 0; r < 4; ++r) { held[turn][r] = load(from + r * a.in_step); }
            }
            from += 32 * a.in_step;
        }
    };
    if (inside && aligned) {
        load_inside([](const std::uint8_t* from) { return *reinterpret_cast<const unsigned*>(from); });
    } else if (inside) {
        load_inside([](const std::uint8_t* from) { return word_from(from); });
    } else {
        const bool whole = aligned && line + 4 <= c.lines;
#pragma unroll
        for (int turn = 0; turn < kOwnTurns; ++turn) {
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                std::int64_t position = first + 4 * (first_quad + 8 * turn) + r;
                if (position < a.in_first || position >= a.in_last) { position = near_boundary_index(a.boundary, position, a.n); }
                const bool there = position >= a.in_first && position < a.in_last;
                const std::uint8_t* const from = own + (position - a.in_first) * a.in_step;
                held[turn][r] = 0x01010101u * a.constant;
                if (there && whole) { held[turn][r] = *reinterpret_cast<const unsigned*>(from); }
                if (there && !whole) { held[turn][r] = word_of_lines(from, a.in_line, c.lines - line); }
            }
        }
    }
#pragma unroll
    for (int turn = 0; turn < kOwnTurns; ++turn) {
        if (first_quad + 8 * turn < kQuads) { turn_4_by_4(to + 8 * turn, kPitch, held[turn]); }
    }
}

/// An output by its sum in double.
__device__ __forceinline__ std::uint8_t output_of(const BytesArguments& a, double sum) {
    return saturate<std::uint8_t>(sum * a.scale + a.offset, 0, 256);
}

/// The taps of all parts and steps as fragments of this lane.
template <int kSteps>
struct TapFragments {
    uint2 parts[kSteps][kParts];

    __device__ __forceinline__ explicit TapFragments(const uint2* from) {
#pragma unroll
        for (int i = 0; i < kSteps * kParts; ++i) { parts[i / kParts][i % kParts] = __ldg(from + 32 * i + threadIdx.x % 32); }
    }
};

/// sum: 16 lines' outputs of two neighbouring groups, modulo 2^32. held: of each, rows g and g + 8 of halves of steps. kApart: each
/// byte of the taps has sums of its own, whose products do not wait for each other; that takes registers.
template <int kSteps, bool kApart>
__device__ __forceinline__ void make_sums(unsigned (&sum)[2][4], const unsigned (&held)[2][2 * kSteps][2],
                                          const TapFragments<kSteps>& taps, unsigned bias) {
    unsigned sums[kApart ? kParts : 1][2][4];
#pragma unroll
    for (int part = kParts - 1; part >= 0; --part) {
        unsigned(&to)[2][4] = sums[kApart ? part : 0];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            unsigned& own = to[i / 4][i % 4];
            own = (kApart || part == kParts - 1 ? 0 : own << 8) + (part == 0 ? bias : 0);
        }
#pragma unroll
        for (int i = 0; i < 2 * kSteps; ++i) {
            const unsigned(&h)[2 * kSteps][2] = held[i % 2];
            const int s = i / 2;
            const unsigned a[4] = {h[2 * s][0], h[2 * s][1], h[2 * s + 1][0], h[2 * s + 1][1]};
            if (part == kParts - 1) {
                tensor::multiply_bytes<true>(to[i % 2], a, taps.parts[s][part]);
            } else {
                tensor::multiply_bytes<false>(to[i % 2], a, taps.parts[s][part]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        unsigned& own = sum[i / 4][i % 4];
        own = sums[0][i / 4][i % 4];
        if constexpr (kApart) { own += ((sums[2][i / 4][i % 4] << 8) + sums[1][i / 4][i % 4]) << 8; }
    }
}

/// Where a lane's four outputs of a group are, from those of the warp's: lines g, g, g + 8, g + 8, places 2 q and the next.
__device__ __forceinline__ int line_of(int lane, int i) { return lane / 4 + i / 2 * 8; }
__device__ __forceinline__ int place_of(int lane, int i) { return lane % 4 * 2 + i % 2; }
template <bool kAcross>
__device__ __forceinline__ int output_at(int line, int place) {
    return kAcross ? place * kAcrossPitch + line : line * kOutPitch + place;
}

/// A lane's outputs of a group, and what it held of the group's windows.
template <int kSteps>
struct Group {
    unsigned sum[4], held[2 * kSteps][2];
};

/// Makes a warp's doubtful outputs of a group again: looked up where a line's window has one sample only; else few by all lanes
/// together, more as products of matrices of doubles. samples: those under the filter of the group's first output; outputs: that.
template <int kSteps, bool kAcross>
__device__ __noinline__ void settle(const BytesArguments& a, const Group<kSteps> group, const std::uint8_t* samples,
                                    std::uint8_t* outputs) {
    constexpr int kPitch = 4 * pitch_words(kSteps, kAcross);
    constexpr unsigned kAll = 0xffffffffu;
    constexpr int kFew = 2;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    unsigned doubts = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const bool trusted = a.trust_zeros != 0 && group.sum[i] == a.bias;
        if ((group.sum[i] & ((1u << a.fraction) - 1)) < a.doubtful && !trusted) { doubts |= 1u << i; }
    }
    if (!__any_sync(kAll, doubts != 0)) { return; }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const unsigned same = 0x01010101u * (__shfl_sync(kAll, group.held[0][h], lane / 4 * 4) & 255u);
        unsigned other = 0;  // bits that differ
#pragma unroll
        for (int k = 0; k < 2 * kSteps; ++k) { other |= group.held[k][h] ^ same; }
        other |= __shfl_xor_sync(kAll, other, 1);
        other |= __shfl_xor_sync(kAll, other, 2);
        if (other != 0 || (doubts >> (2 * h) & 3u) == 0) { continue; }
        doubts &= ~(3u << (2 * h));
        const std::uint8_t known = __ldg(a.flat + (same & 255u));
        outputs[output_at<kAcross>(line_of(lane, 2 * h), place_of(lane, 0))] = known;
        outputs[output_at<kAcross>(line_of(lane, 2 * h), place_of(lane, 1))] = known;
    }
    unsigned lanes = __ballot_sync(kAll, doubts != 0);
    if (__popc(lanes) > kFew) {
        double sums[2][2] = {};
        const int place = lane % 4 * 4;
        const std::uint8_t* const own = samples - a.lead + lane / 4 * kPitch + place;
        const int first_tap = place - lane / 4 - a.lead;
#pragma unroll 2
        for (int i = 0; i < 8 * kSteps; ++i) {
            const int at = i / 4 * 16 + i % 4;
            const int tap = first_tap + at;
            const double value = tap >= 0 && tap < a.taps ? __ldg(a.exact_taps + tap) : 0.0;
            tensor::multiply_doubles(sums[0], static_cast<double>(own[at]), value);
            tensor::multiply_doubles(sums[1], static_cast<double>(own[at + 8 * kPitch]), value);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if ((doubts >> i & 1u) != 0) {
                outputs[output_at<kAcross>(line_of(lane, i), place_of(lane, i))] = output_of(a, sums[i / 2][i % 2]);
            }
        }
        return;
    }
    for (; lanes != 0; lanes &= lanes - 1) {
        const int whose = __ffs(static_cast<int>(lanes)) - 1;
        for (unsigned left = __shfl_sync(kAll, doubts, whose); left != 0; left &= left - 1) {
            const int i = __ffs(static_cast<int>(left)) - 1;
            const std::uint8_t* const own = samples + line_of(whose, i) * kPitch + place_of(whose, i);
            double sum = 0;
            for (int t = lane; t < a.taps; t += 32) { sum = fma(static_cast<double>(own[t]), __ldg(a.exact_taps + t), sum); }
#pragma unroll
            for (int step = 16; step > 0; step /= 2) { sum += __shfl_xor_sync(kAll, sum, step); }
            if (lane == 0) { outputs[output_at<kAcross>(line_of(whose, i), place_of(whose, i))] = output_of(a, sum); }
        }
    }
}

/// A lane's outputs of two neighbouring groups to shared memory; whether one of them is doubtful, or may be.
template <bool kAcross>
__device__ __forceinline__ bool store_sums(const BytesArguments& a, std::uint8_t* to, const unsigned (&sum)[2][4]) {
    unsigned both[4];  // outputs side by side
    bool doubtful = false;
    if (a.saturates == 0) {
        unsigned least = ~0u;  // of the upper two bytes of fractions, two of them in a word
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned(&s)[4] = sum[i / 2];
            both[i] = __byte_perm(s[i % 2 * 2], s[i % 2 * 2 + 1], 0x73);
            least = __vminu2(least, __byte_perm(s[i % 2 * 2], s[i % 2 * 2 + 1], 0x6521));
        }
        doubtful = min(least & 0xffffu, least >> 16) < (a.doubtful + 255) >> 8;
    } else {
        const unsigned fraction = (1u << a.fraction) - 1;
        const auto clamped = [&](unsigned x) { return static_cast<unsigned>(min(max(static_cast<int>(x) >> a.fraction, 0), 255)); };
        unsigned least = ~0u;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned(&s)[4] = sum[i / 2];
            both[i] = clamped(s[i % 2 * 2]) | clamped(s[i % 2 * 2 + 1]) << 8;
            least = min(least, min(s[i % 2 * 2] & fraction, s[i % 2 * 2 + 1] & fraction));
        }
        doubtful = least < a.doubtful;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        std::uint8_t* const own = to + output_at<kAcross>(i % 2 * 8, i / 2 * kGroup);
        if (kAcross) {
            own[0] = static_cast<std::uint8_t>(both[i]);
            own[kAcrossPitch] = static_cast<std::uint8_t>(both[i] >> 8);
        } else {
            *reinterpret_cast<std::uint16_t*>(own) = static_cast<std::uint16_t>(both[i]);
        }
    }
    return doubtful;
}

/// A warp's 16 lines: kOutputs outputs each, from shared memory to shared memory, two groups at a time.
template <int kSteps, bool kAcross>
__device__ __forceinline__ void filter_lines(const BytesArguments& a, const std::uint8_t* samples, std::uint8_t* outputs) {
    constexpr int kPitch = pitch_words(kSteps, kAcross);
    const TapFragments<kSteps> taps(a.fragments);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int first_line = static_cast<int>(threadIdx.x) / 32 * 16;
    samples += first_line * 4 * kPitch + (kAcross ? 0 : a.ahead);
    outputs += output_at<kAcross>(first_line, 0);
    const auto* own = reinterpret_cast<const unsigned*>(samples) + lane / 4 * kPitch + lane % 4;
    std::uint8_t* to = outputs + output_at<kAcross>(line_of(lane, 0), place_of(lane, 0));
    unsigned held[2][2 * kSteps][2];
    const auto load = [&](int parity, int half) {
        held[parity][half][0] = own[4 * half + 2 * parity];
        held[parity][half][1] = own[4 * half + 2 * parity + 8 * kPitch];
    };
#pragma unroll
    for (int i = 0; i < 4 * kSteps - 2; ++i) { load(i % 2, i / 2); }
#pragma unroll 2
    for (int pair = 0; pair < kOutputs / (2 * kGroup); ++pair) {
        unsigned sum[2][4];
        load(0, 2 * kSteps - 1);
        load(1, 2 * kSteps - 1);
        make_sums<kSteps, kAcross && kSteps == 1>(sum, held, taps, a.bias);
        const bool doubtful = store_sums<kAcross>(a, to, sum);
        to += output_at<kAcross>(0, 2 * kGroup);
        if (__any_sync(0xffffffffu, doubtful)) {
            __syncwarp();  // an output may be made again by another lane
#pragma unroll
            for (int parity = 0; parity < 2; ++parity) {
                const int place = (2 * pair + parity) * kGroup;
                Group<kSteps> group;
#pragma unroll
                for (int i = 0; i < 4; ++i) { group.sum[i] = sum[parity][i]; }
#pragma unroll
                for (int i = 0; i < 2 * kSteps; ++i) {
                    group.held[i][0] = held[parity][i][0];
                    group.held[i][1] = held[parity][i][1];
                }
                settle<kSteps, kAcross>(a, group, samples + place + a.lead, outputs + output_at<kAcross>(0, place));
            }
        }
        own += 4;
#pragma unroll
        for (int i = 0; i < 2 * (2 * kSteps - 1); ++i) {
            held[i % 2][i / 2][0] = held[i % 2][i / 2 + 1][0];
            held[i % 2][i / 2][1] = held[i % 2][i / 2 + 1][1];
        }
    }
}

/// Word `word` of a run of `length` outputs that goes to where memory has words: those of shared memory that it lies across become
/// one; bytes at the run's ends.
__device__ __forceinline__ void store_word(std::uint8_t* to, const std::uint8_t* from, int word, int length) {
    const int past = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) & 3);
    const int at = 4 * word - past;
    if (at >= 0 && at + 4 <= length) {
        const auto* const words = reinterpret_cast<const unsigned*>(from) + word;
        const unsigned value = past == 0 ? words[0] : __funnelshift_l(words[-1], words[0], static_cast<unsigned>(past) * 8);
        *reinterpret_cast<unsigned*>(to + at) = value;
    } else {
        for (int k = max(at, 0); k < min(at + 4, length); ++k) { to[k] = from[k]; }
    }
}

/// Outputs from shared memory to where they belong: runs of kRun outputs, in vectors, words that begin anywhere, or bytes.
template <bool kAcross>
__device__ __forceinline__ void store_outputs(const BytesArguments& a, const Corner& c, const std::uint8_t* outputs) {
    constexpr int kRun = kAcross ? kLines : kOutputs;
    constexpr int kPitch = kAcross ? kAcrossPitch : kOutPitch;
    constexpr int kVectors = kRun / 16;
    constexpr int kWords = kRun / 4;
    const int runs = kAcross ? c.outputs : c.lines;
    const int length = kAcross ? c.lines : c.outputs;
    const std::int64_t by_run = kAcross ? a.out_step : a.out_line;
    const std::int64_t by_byte = kAcross ? a.out_line : a.out_step;
    std::uint8_t* const out = a.out + c.line * a.out_line + c.output * a.out_step;
    if (!kAcross && a.stores == Stores::aligned && c.lines == kLines && c.outputs == kOutputs) {
        constexpr int kRuns = kThreads / kVectors;  // at a time
        const int run = static_cast<int>(threadIdx.x) / kVectors;
        const int at = static_cast<int>(threadIdx.x) % kVectors * 16;
        const std::uint8_t* from = outputs + run * kPitch + at;
        std::uint8_t* to = out + run * by_run + at;
#pragma unroll
        for (int turn = 0; turn < kLines / kRuns; ++turn) {
            *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
            from += kRuns * kPitch;
            to += kRuns * by_run;
        }
        return;
    }
    if (a.stores == Stores::anywhere) {
        for (int i = static_cast<int>(threadIdx.x); i < runs * kWords; i += kThreads) {
            const int run = i / kWords;
            const int word = i - run * kWords;
            store_word(out + run * by_run, outputs + run * kPitch, word, length);
            if (word == 0) { store_word(out + run * by_run, outputs + run * kPitch, kWords, length); }
        }
        return;
    }
    for (int i = static_cast<int>(threadIdx.x); i < runs * kVectors; i += kThreads) {
        const int run = i / kVectors;
        const int at = (i - run * kVectors) * 16;
        const std::uint8_t* const from = outputs + run * kPitch + at;
        std::uint8_t* const to = out + run * by_run + at * by_byte;
        if (a.stores == Stores::aligned && at + 16 <= length) {
            *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
        } else {
            for (int k = 0; k < 16 && at + k < length; ++k) { to[k * by_byte] = from[k]; }
        }
    }
}

/// A block's 64 lines of 128 outputs. kAcross: lines lie side by side in memory, else their samples do.
template <int kSteps, bool kAcross>
__global__ void __launch_bounds__(kThreads) bytes_kernel(const __grid_constant__ BytesArguments a) {
    extern __shared__ __align__(128) char shared[];
    auto* const samples = reinterpret_cast<std::uint8_t*>(shared);
    std::uint8_t* const outputs = samples + samples_bytes(kSteps, kAcross);
    const Corner c = corner_of_block(a, kAcross);
    const std::int64_t first = a.first + c.output + a.begin;
    if constexpr (kAcross) {
        load_across<kSteps>(a, c, first, reinterpret_cast<unsigned*>(samples));
    } else {
        load_lines<kSteps>(a, c, first, samples);
    }
    __syncthreads();
    filter_lines<kSteps, kAcross>(a, samples, outputs);
    __syncthreads();
    store_outputs<kAcross>(a, c, outputs);
}

}  // namespace tapline::cuda::bytes_rung
