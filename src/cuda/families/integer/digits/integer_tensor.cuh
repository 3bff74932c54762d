// 44: signals of integers as products of bytes on tensor cores, whose sums of 32 bits are exact.
#pragma once

#include "cuda/families/bytes/byte_fragments.cuh"
#include "cuda/families/integer/digits/integer_digits.cuh"
#include "cuda/families/integer/digits/integer_tensor.hpp"
#include "cuda/primitives/matrix_fragments.cuh"

namespace tapline::cuda::integer {

/// Where a byte of a plane lies: halves of 32 bytes change places in every other 128, so that eight lines meet in no bank.
__device__ __forceinline__ int plane_place(int byte) { return byte ^ ((byte >> 3) & 16); }

/// A vector of samples, the first of which is number `at` of the window, as bytes of each plane.
template <int kBytes>
__device__ __forceinline__ void put_planes(char* planes, int plane_bytes, int at, uint4 v, unsigned flip) {
    v = {v.x ^ flip, v.y ^ flip, v.z ^ flip, v.w ^ flip};
    char* const to = planes + plane_place(at);
    if constexpr (kBytes == 1) {
        *reinterpret_cast<uint4*>(to) = v;
    } else if constexpr (kBytes == 2) {
        *reinterpret_cast<uint2*>(to) = {__byte_perm(v.x, v.y, 0x6420), __byte_perm(v.z, v.w, 0x6420)};
        *reinterpret_cast<uint2*>(to + plane_bytes) = {__byte_perm(v.x, v.y, 0x7531), __byte_perm(v.z, v.w, 0x7531)};
    } else {
        const unsigned low[2] = {__byte_perm(v.x, v.y, 0x5140), __byte_perm(v.z, v.w, 0x5140)};
        const unsigned high[2] = {__byte_perm(v.x, v.y, 0x7362), __byte_perm(v.z, v.w, 0x7362)};
        *reinterpret_cast<unsigned*>(to) = __byte_perm(low[0], low[1], 0x5410);
        *reinterpret_cast<unsigned*>(to + plane_bytes) = __byte_perm(low[0], low[1], 0x7632);
        *reinterpret_cast<unsigned*>(to + 2 * plane_bytes) = __byte_perm(high[0], high[1], 0x5410);
        *reinterpret_cast<unsigned*>(to + 3 * plane_bytes) = __byte_perm(high[0], high[1], 0x7632);
    }
}

/// `count` samples from position `first` on, which lies on 16 bytes, as planes.
template <int kBytes>
__device__ __forceinline__ void load_planes(const Tensor& g, char* planes, std::int64_t row, std::int64_t first, int count) {
    constexpr int V = 16 / kBytes;
    constexpr int kLoads = 4;  // that go out together
    constexpr int kThreads = 32 * kTensorWarps;
    const Signal& s = g.signal;
    const std::int64_t length = s.a.in_last - s.a.in_first;
    const auto* const in = static_cast<const char*>(s.a.in) + (row + first) * kBytes;
#pragma unroll 1
    for (int i = V * static_cast<int>(threadIdx.x); i < count; i += V * kThreads * kLoads) {
        uint4 some[kLoads];
#pragma unroll
        for (int u = 0; u < kLoads; ++u) {
            const int at = i + u * V * kThreads;
            if (at >= count) { break; }
            const bool inside = first + at >= 0 && first + at + V <= length;
            some[u] = inside ? *reinterpret_cast<const uint4*>(in + at * kBytes) : vector_elsewhere<kBytes>(s, row, first + at);
        }
#pragma unroll
        for (int u = 0; u < kLoads; ++u) {
            const int at = i + u * V * kThreads;
            if (at < count) { put_planes<kBytes>(planes, g.plane_bytes, at, some[u], g.flip); }
        }
    }
}

/// Sums of 16 lines by 32 outputs: part [w][n] of column 8 n and the next seven is that of 256^w.
template <int S, int T, int W>
__device__ __forceinline__ void add_products(unsigned (&sum)[W][4][4], const Tensor& g, const char* planes, const unsigned* tables,
                                             int before, int steps) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int column = lane / 4 + before;  // its taps begin so many places on
    const unsigned* const taps = tables + column % 4 * g.table_words + kTapLead + lane % 4 - column / 4;
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(planes));
    const int line = static_cast<int>(threadIdx.x) / 32 * 16 + lane % 16;
    unsigned late[T][2];  // the words of columns 16 and 24 are those of 0 and 8 half a step before
#pragma unroll
    for (int j = 0; j < T; ++j) {
        late[j][0] = taps[4 * j * g.table_words - 4];
        late[j][1] = taps[4 * j * g.table_words - 6];
    }
#pragma unroll 2
    for (int step = 0; step < steps; ++step) {
        unsigned x[S][4];
        const unsigned at = address + static_cast<unsigned>(plane_place(32 * (line + step) + lane / 16 * 16));
#pragma unroll
        for (int i = 0; i < S; ++i) { tensor::load_fragment(x[i], at + static_cast<unsigned>(i * g.plane_bytes)); }
#pragma unroll
        for (int j = 0; j < T; ++j) {
            const unsigned* const own = taps + 4 * j * g.table_words + 8 * step;
            const uint2 even{own[0], own[4]};
            const uint2 odd{own[-2], own[2]};
            const uint2 h[4] = {even, odd, {late[j][0], even.x}, {late[j][1], odd.x}};
#pragma unroll
            for (int i = 0; i < S; ++i) {
                if (i + j < W) {
#pragma unroll
                    for (int n = 0; n < 4; ++n) {
                        if (j == T - 1) {  // which has the sign
                            tensor::multiply_bytes<true>(sum[i + j][n], x[i], h[n]);
                        } else {
                            tensor::multiply_bytes<false>(sum[i + j][n], x[i], h[n]);
                        }
                    }
                }
            }
            late[j][0] = even.y;
            late[j][1] = odd.y;
        }
    }
}

/// A warp's outputs [begin, end) of its 512 to `out`, which lies on 16 bytes, through `stage`.
template <class Raw, int W>
__device__ __forceinline__ void store_sums(const unsigned (&sum)[W][4][4], std::int64_t added, Raw* stage, Raw* out, int begin,
                                           int end) {
    using Sum = std::conditional_t<sizeof(Raw) == 8, std::uint64_t, std::uint32_t>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int place = kLineOutputs * (lane / 4 + e / 2 * 8) + 8 * n + lane % 4 * 2 + e % 2;
            unsigned parts[W];
#pragma unroll
            for (int w = 0; w < W; ++w) { parts[w] = sum[w][n][e]; }
            stage[place] = static_cast<Raw>(joined_parts<Sum>(parts, added));
        }
    }
    __syncwarp();
    Runs run{};
    run.from = reinterpret_cast<const char*>(stage + begin);
    run.to = reinterpret_cast<char*>(out + begin);
    run.runs = 1;
    run.length = end - begin;
    copy_out<sizeof(Raw)>(run, Team{lane, 32});
}

/// Samples are bytes of S planes, taps of T. A line of 32 outputs is a row of a matrix whose windows overlap in shared memory; the
/// other factor is the band of taps, whose words lanes read from tables. Products i + j bring 256^(i + j); others than W matter to
/// no output. Signs are turned away from samples, which adds the same to all sums.
template <int S, int T, int W>
__global__ void __launch_bounds__(32 * kTensorWarps, 4) tensor_digits_kernel(const __grid_constant__ Tensor g) {
    extern __shared__ uint4 digits_memory[];
    char* const memory = reinterpret_cast<char*>(digits_memory);
    auto* const tables = reinterpret_cast<unsigned*>(memory);
    const Signal& s = g.signal;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int out_bytes = s.finish.output_bytes;
    const unsigned* brought = nullptr;
    std::int64_t added = 0;
    const std::int64_t first_tile = static_cast<std::int64_t>(blockIdx.x) * g.tiles_of_block;
    const std::int64_t last_tile = min(first_tile + g.tiles_of_block, s.rows.tiles);
#pragma unroll 1
    for (std::int64_t number = first_tile; number < last_tile; ++number) {
        const LineTile tile = line_tile(s.a, s.rows, s.a.tiles, number);
        const unsigned* const taps = g.taps.words + filter_of(s.rows, tile, 0) * g.taps.filter_words;
        // Outputs from an address of 16 bytes on, of samples from such an address on.
        char* const out_row = static_cast<char*>(s.a.out) + tile.out * out_bytes;
        const std::int64_t o = tile.tile * kTensorOutputs - past_16(out_row) / out_bytes;
        const int begin = static_cast<int>(max(-o, std::int64_t{0}));
        const int end = static_cast<int>(min(s.a.count - o, std::int64_t{kTensorOutputs}));
        if (begin >= end) { continue; }
        const std::int64_t first = s.a.first - s.a.origin - s.a.in_first + o;
        const int before = past_16(static_cast<const char*>(s.a.in) + (tile.in + first) * S) / S;
        __syncthreads();  // the last tile's samples are used up
        if (taps != brought) {
            bring_tables<T, kTapLead, 32 * kTensorWarps>(tables, g.table_words, taps, g.taps.tap_words);
            added = added_by_signs(g.taps, taps);
            brought = taps;
        }
        char* const planes = memory + g.planes_at;
        load_planes<S>(g, planes, tile.in, first - before, before + end + static_cast<int>(s.a.k) - 1);
        __syncthreads();
        const int own = warp * kTensorWarpOutputs;
        if (own >= end || own + kTensorWarpOutputs <= begin) { continue; }
        unsigned sum[W][4][4] = {};
        add_products<S, T, W>(sum, g, planes, tables, before, tensor_steps(s.a.k, before));
        with_raw(out_bytes, [&](auto raw) {
            using Raw = decltype(raw);
            Raw* const stage = reinterpret_cast<Raw*>(memory + g.stage_at) + own;
            Raw* const out = reinterpret_cast<Raw*>(out_row) + o + own;
            store_sums(sum, added, stage, out, max(begin - own, 0), min(end - own, kTensorWarpOutputs));
        });
        __syncwarp();
    }
}

}  // namespace tapline::cuda::integer
