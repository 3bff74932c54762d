// 50: signals of integers as products of bytes that four warps multiply together (compute capability 9.0): samples are read from
// shared memory by the tensor cores themselves, taps stay in registers.
#pragma once

#include "cuda/families/bytes/byte_group.cuh"
#include "cuda/families/integer/digits/integer_digits.cuh"
#include "cuda/families/integer/digits/integer_group.hpp"
#include "cuda/primitives/bulk_copy.cuh"

namespace tapline::cuda::integer {

template <int S, int T, int W>
inline constexpr int kGroupLines = group_lines(Digits{S, T, W});
template <int S, int T, int W>
inline constexpr int kGroupBlocks = group_blocks(Digits{S, T, W});

/// Where a tile's outputs [begin, end) of kOutputs are, the first of them being output o, and the samples that they meet, `before`
/// of them early.
struct GroupTile {
    char* out_row;
    std::int64_t in, row, o, start;
    int begin, end, before, samples;
    bool copied;  // in bulk
};

template <int S>
__device__ __forceinline__ GroupTile group_tile(const Group& g, int outputs, std::int64_t number) {
    const Signal& s = g.signal;
    if (number >= s.rows.tiles) { return {}; }
    const LineTile tile = line_tile(s.a, s.rows, s.a.tiles, number);
    GroupTile t{};
    // Outputs from an address of 16 bytes on, of samples from such an address on.
    t.out_row = static_cast<char*>(s.a.out) + tile.out * s.finish.output_bytes;
    t.in = tile.in;
    t.row = filter_of(s.rows, tile, 0);
    t.o = tile.tile * outputs - past_16(t.out_row) / s.finish.output_bytes;
    t.begin = static_cast<int>(max(-t.o, std::int64_t{0}));
    t.end = static_cast<int>(min(s.a.count - t.o, std::int64_t{outputs}));
    const std::int64_t first = s.a.first - s.a.origin - s.a.in_first + t.o;
    t.before = past_16(static_cast<const char*>(s.a.in) + (tile.in + first) * S) / S;
    t.start = first - t.before;
    constexpr int V = 16 / S;
    t.samples = (t.before + t.end + static_cast<int>(s.a.k) - 1 + V - 1) / V * V;
    t.copied = t.begin < t.end && t.start >= 0 && t.start + t.samples <= s.a.in_last - s.a.in_first;
    return t;
}

/// Samples whose bytes a thread parts at a time: vectors of so many bytes.
template <int S>
inline constexpr int kPartedBytes = S == 8 ? 32 : 16;

/// Bytes of samples from number `at` of the window on, in memory's order, to their planes: a vector of 16 samples lies in part v %
/// 4 of its plane, so that 8 columns of a product, 64 samples apart, are 128 bytes.
template <int S>
__device__ __forceinline__ void put_digits(char* planes, int part_bytes, int at, const uint4 (&v)[kPartedBytes<S> / 16]) {
    char* const to = planes + at / 16 % 4 * part_bytes + at / 64 * 16 + at % 16;
    const int plane = 4 * part_bytes;
    if constexpr (S == 1) {
        *reinterpret_cast<uint4*>(to) = v[0];
    } else if constexpr (S == 2) {
        *reinterpret_cast<uint2*>(to) = {__byte_perm(v[0].x, v[0].y, 0x6420), __byte_perm(v[0].z, v[0].w, 0x6420)};
        *reinterpret_cast<uint2*>(to + plane) = {__byte_perm(v[0].x, v[0].y, 0x7531), __byte_perm(v[0].z, v[0].w, 0x7531)};
    } else {
        // Of words that four samples have `step` apart, a word for each of their bytes.
        const auto put_words = [&](char* first, unsigned x, unsigned y, unsigned z, unsigned w) {
            const unsigned low[2] = {__byte_perm(x, y, 0x5140), __byte_perm(z, w, 0x5140)};
            const unsigned high[2] = {__byte_perm(x, y, 0x7362), __byte_perm(z, w, 0x7362)};
            *reinterpret_cast<unsigned*>(first) = __byte_perm(low[0], low[1], 0x5410);
            *reinterpret_cast<unsigned*>(first + plane) = __byte_perm(low[0], low[1], 0x7632);
            *reinterpret_cast<unsigned*>(first + 2 * plane) = __byte_perm(high[0], high[1], 0x5410);
            *reinterpret_cast<unsigned*>(first + 3 * plane) = __byte_perm(high[0], high[1], 0x7632);
        };
        if constexpr (S == 4) {
            put_words(to, v[0].x, v[0].y, v[0].z, v[0].w);
        } else {
            put_words(to, v[0].x, v[0].z, v[1].x, v[1].z);
            put_words(to + 4 * plane, v[0].y, v[0].w, v[1].y, v[1].w);
        }
    }
}

/// Signs turned: of samples of 8 bytes every other word has none.
template <int S>
__device__ __forceinline__ uint4 turn_signs(uint4 v, unsigned flip) {
    return {S == 8 ? v.x : v.x ^ flip, v.y ^ flip, S == 8 ? v.z : v.z ^ flip, v.w ^ flip};
}

/// The tile's samples as planes, wherever they are. Apart, as it would take registers from the products.
template <int S>
__device__ __noinline__ void part_samples(const Group& g, const GroupTile& t, char* planes) {
    constexpr int kVectors = kPartedBytes<S> / 16;
    constexpr int kSamples = kPartedBytes<S> / S;
    const Signal& s = g.signal;
    constexpr int V = 16 / S;
    constexpr int kLoads = 4 / kVectors;  // that go out together
    const std::int64_t length = s.a.in_last - s.a.in_first;
    const auto* const in = static_cast<const char*>(s.a.in) + (t.in + t.start) * S;
#pragma unroll 1
    for (int i = kSamples * static_cast<int>(threadIdx.x); i < t.samples; i += kSamples * kGroupThreads * kLoads) {
        uint4 v[kLoads][kVectors];
#pragma unroll
        for (int u = 0; u < kLoads * kVectors; ++u) {
            const int from = i + u / kVectors * kSamples * kGroupThreads + u % kVectors * V;
            if (from >= t.samples) { break; }
            const std::int64_t at = t.start + from;
            const bool inside = at >= 0 && at + V <= length;
            v[u / kVectors][u % kVectors] =
                turn_signs<S>(inside ? *reinterpret_cast<const uint4*>(in + from * S) : vector_elsewhere<S>(s, t.in, at), g.flip);
        }
#pragma unroll
        for (int u = 0; u < kLoads; ++u) {
            const int to = i + u * kSamples * kGroupThreads;
            if (to < t.samples) { put_digits<S>(planes, g.part_bytes, to, v[u]); }
        }
    }
}

/// The same of those that have been copied to `raw`.
template <int S>
__device__ __forceinline__ void part_copied_samples(const Group& g, const GroupTile& t, char* planes, const char* raw) {
    constexpr int kVectors = kPartedBytes<S> / 16;
    constexpr int kSamples = kPartedBytes<S> / S;
#pragma unroll 2
    for (int i = static_cast<int>(threadIdx.x); i * kSamples < t.samples; i += kGroupThreads) {
        uint4 v[kVectors];
        if constexpr (kVectors == 1) {
            v[0] = turn_signs<S>(*reinterpret_cast<const uint4*>(raw + 16 * i), g.flip);
        } else {
            // Half of the threads begin with the other vector, so that eight meet in no bank.
            const int other = i / 4 % 2;
            const uint4 one = turn_signs<S>(*reinterpret_cast<const uint4*>(raw + 32 * i + 16 * other), g.flip);
            const uint4 two = turn_signs<S>(*reinterpret_cast<const uint4*>(raw + 32 * i + 16 * (1 - other)), g.flip);
            v[0] = other == 0 ? one : two;
            v[1] = other == 0 ? two : one;
        }
        put_digits<S>(planes, g.part_bytes, kSamples * i, v);
    }
}

/// Sums of 64 outputs by kBlocks blocks of 8 kColumns lines: part [w] is that of 256^w. Products of one group are under way while
/// the next one's taps are read.
template <int S, int T, int W, int kBlocks, int kColumns>
__device__ __forceinline__ void add_group_products(unsigned (&sum)[W][kBlocks][kColumns][4], const Group& g, unsigned samples,
                                                   const unsigned* tables, int before) {
    constexpr int kSteps = T == 1 ? 2 : 1;  // of a group
    const int thread = static_cast<int>(threadIdx.x);
    const int late = thread % 32 / 4 + before;  // of this thread's first row, whose taps begin so many places on
    const unsigned* const taps = tables + late % 4 * g.table_words + kGroupTapLead + thread % 4 - late / 4 - thread / 32 * 4;
    const int steps = group_steps(g.signal.a.k, before);
    const std::uint64_t first_columns = matrix_of_cores(samples, static_cast<unsigned>(g.part_bytes), 128);
    unsigned a[2][kSteps][T][4];
    const auto load = [&](auto& to, int step) __attribute__((always_inline)) {
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
#pragma unroll
            for (int j = 0; j < T; ++j) {
                const unsigned* const from = taps + 4 * j * g.table_words + 8 * (step + s);
                to[s][j][0] = from[0];
                to[s][j][1] = from[-2];
                to[s][j][2] = from[4];
                to[s][j][3] = from[2];
            }
        }
    };
    const auto multiply = [&](const auto& h, int step) __attribute__((always_inline)) {
        begin_warpgroup_products();
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
            const int at = (step + s) % 2 * 2 * g.part_bytes + (step + s) / 2 * 16;
#pragma unroll
            for (int j = 0; j < T; ++j) {
#pragma unroll
                for (int i = 0; i < S; ++i) {
                    if (i + j < W) {
#pragma unroll
                        for (int m = 0; m < kBlocks; ++m) {
                            const std::uint64_t b = cores_after(first_columns, at + i * 4 * g.part_bytes + m * kColumns * 128);
                            if (j == T - 1) {  // which has the sign
                                tensor::multiply_group_bytes<true>(sum[i + j][m], h[s][j], b);
                            } else {
                                tensor::multiply_group_bytes<false>(sum[i + j][m], h[s][j], b);
                            }
                        }
                    }
                }
            }
        }
        commit_warpgroup_products();
    };
    load(a[0], 0);
#pragma unroll 1
    for (int step = 0;;) {
        multiply(a[0], step);
        wait_warpgroup_products<1>();
        step += kSteps;
        if (step >= steps) { break; }
        load(a[1], step);
        multiply(a[1], step);
        wait_warpgroup_products<1>();
        step += kSteps;
        if (step >= steps) { break; }
        load(a[0], step);
    }
    wait_warpgroup_products<0>();
#pragma unroll
    for (int w = 0; w < W; ++w) { tensor::settle_products(sum[w]); }
}

/// Vectors of a line of staged outputs are turned by a number that lines have in turn, so that no store meets another in a bank.
template <int kBytes>
__device__ __forceinline__ int group_turn(int line) {
    return line / 2 % 4 * (kBytes == 1 ? 1 : 2);
}

/// Sums as a tile of outputs, lines of 64 side by side.
template <class Raw, int W, int kBlocks, int kColumns>
__device__ __forceinline__ void stage_sums(char* stage, const unsigned (&sum)[W][kBlocks][kColumns][4], std::int64_t added) {
    using Sum = std::conditional_t<sizeof(Raw) == 8, std::uint64_t, std::uint32_t>;
    constexpr int kBytes = sizeof(Raw);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int line = lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int byte = (static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4 + 8 * half) * kBytes;
        char* const to = stage + line * kGroupLine * kBytes + ((byte / 16 ^ group_turn<kBytes>(line)) * 16 + byte % 16);
#pragma unroll
        for (int m = 0; m < kBlocks; ++m) {
#pragma unroll
            for (int n = 0; n < kColumns; ++n) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    unsigned parts[W];
#pragma unroll
                    for (int w = 0; w < W; ++w) { parts[w] = sum[w][m][n][2 * half + e]; }
                    *reinterpret_cast<Raw*>(to + (8 * (m * kColumns + n) + e) * kGroupLine * kBytes) =
                        static_cast<Raw>(joined_parts<Sum>(parts, added));
                }
            }
        }
    }
}

/// Outputs [begin, end) of a staged tile to `out`, which lies on 16 bytes.
template <class Raw>
__device__ __forceinline__ void store_staged_tile(char* out, const char* stage, int lines, int begin, int end) {
    constexpr int kBytes = sizeof(Raw);
    constexpr int kVectors = kGroupLine * kBytes / 16;  // of a line
    constexpr int V = 16 / kBytes;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < lines * kVectors; i += kGroupThreads) {
        const int line = i / kVectors;
        const char* const from = stage + line * kGroupLine * kBytes + (i % kVectors ^ group_turn<kBytes>(line)) * 16;
        if (i * V >= begin && i * V + V <= end) {
            __stcs(reinterpret_cast<uint4*>(out) + i, *reinterpret_cast<const uint4*>(from));
        } else {
#pragma unroll 1
            for (int j = max(begin - i * V, 0); j < min(end - i * V, V); ++j) {
                reinterpret_cast<Raw*>(out)[i * V + j] = reinterpret_cast<const Raw*>(from)[j];
            }
        }
    }
}

/// Output 64 n + i of a tile is the sum over m of T[i][m] X[m][n] with X[m][n] = sample 64 n + m, a view of the samples as they lie
/// in their planes, and T[i][m] = tap m - i, whose words threads read from tables. Products of bytes i and j bring 256^(i + j);
/// others than W matter to no output. The next tile's samples are copied while one's are multiplied.
///
/// Shared memory: where copies arrive, tables, samples as they come, planes, outputs.
template <int S, int T, int W>
__global__ void __launch_bounds__(kGroupThreads, kGroupBlocks<S, T, W>) group_digits_kernel(const __grid_constant__ Group g) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr int kLines = kGroupLines<S, T, W>;
    constexpr int kOutputs = kGroupLine * kLines;
    constexpr int kColumns = kLines == 32 ? 4 : 8;
    constexpr int kBlocks = kLines / 8 / kColumns;
    extern __shared__ __align__(128) char group_memory[];
    auto* const arrived = reinterpret_cast<CopyBarrier*>(group_memory);
    auto* const tiles = reinterpret_cast<GroupTile*>(group_memory + 16);  // this one, and the next two
    auto* const tables = reinterpret_cast<unsigned*>(group_memory + kGroupHeader);
    char* const raw = group_memory + g.raw_at;
    char* const planes = group_memory + g.planes_at;
    char* const stage = group_memory + g.stage_at;
    const Signal& s = g.signal;
    const auto copy = [&](const GroupTile& t) {
        if (!t.copied) { return; }
        copy_bulk(raw, static_cast<const char*>(s.a.in) + (t.in + t.start) * S, static_cast<unsigned>(t.samples * S), arrived);
    };
    // One thread finds where a tile is, while the one before the last is multiplied.
    if (threadIdx.x < 64 && threadIdx.x % 32 == 0) {
        const int which = static_cast<int>(threadIdx.x) / 32;
        tiles[which] = group_tile<S>(g, kOutputs, blockIdx.x + which * static_cast<std::int64_t>(gridDim.x));
        if (which == 0) {
            initialize(arrived);
            fence_before_copy();
            copy(tiles[0]);
        }
    }
    __syncthreads();
    std::int64_t brought = -1;
    std::int64_t added = 0;
    std::uint32_t phase = 0;
    int now = 0;
#pragma unroll 1
    for (std::int64_t number = blockIdx.x; number < s.rows.tiles; number += gridDim.x) {
        const GroupTile& t = tiles[now];
        now = now == 2 ? 0 : now + 1;
        if (t.row != brought) {  // all have read the last ones
            const unsigned* const words = g.taps.words + t.row * g.taps.filter_words;
            bring_tables<T, kGroupTapLead, kGroupThreads>(tables, g.table_words, words, g.taps.tap_words);
            added = added_by_signs(g.taps, words);
            brought = t.row;
        }
        if (t.copied) {
            wait(arrived, phase);
            phase ^= 1;
            part_copied_samples<S>(g, t, planes, raw);
        } else {
            part_samples<S>(g, t, planes);
        }
        fence_for_warpgroup();
        __syncthreads();
        if (threadIdx.x == 0) { copy(tiles[now]); }
        if (threadIdx.x == 32) {
            tiles[now == 2 ? 0 : now + 1] = group_tile<S>(g, kOutputs, number + 2 * static_cast<std::int64_t>(gridDim.x));
        }
        __syncwarp();
        unsigned sum[W][kBlocks][kColumns][4] = {};
        add_group_products<S, T>(sum, g, shared_address(planes), tables, t.before);
        with_raw(s.finish.output_bytes, [&](auto one) {
            using Raw = decltype(one);
            stage_sums<Raw>(stage, sum, added);
            __syncthreads();
            store_staged_tile<Raw>(t.out_row + t.o * static_cast<int>(sizeof(Raw)), stage, kLines, t.begin, t.end);
        });
    }
#endif
}

}  // namespace tapline::cuda::integer
