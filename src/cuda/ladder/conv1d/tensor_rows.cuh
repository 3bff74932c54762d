// Rung 21's products of 16-bit samples of long signals (compute capability 9.0): samples stay in registers, taps in shared memory.
#pragma once

#include "cuda/ladder/conv1d/direct.hpp"
#include "cuda/primitives/row_tile.cuh"
#include "cuda/primitives/slow_tile.cuh"

namespace tapline::cuda::tensor {

/// A tile is 64 rows of 160 outputs, one behind the other in memory. Output 32 p + b of row a = sum over m of X[a][m] T[m][b] with
/// X[a][m] = sample 32 p + m of row a and T[m][b] = tap m - b. A thread keeps its part of `kChunks` chunks of 32 samples of two
/// rows, and from one p to the next takes one more: T is the same for all. Both the samples of a chunk and the outputs of a
/// position are in an order that makes what a thread has 8 neighbours, so they go to and from memory as vectors.
///
/// One block a multiprocessor; its warpgroups take turns with its tiles, and copies of the next ones are on their way meanwhile:
/// while one warpgroup loads, converts and stores, others multiply. The low halves of the taps come first, into the same sums.
/// Shared memory: where copies arrive and how many were started, T, tiles' samples.
template <class S, int kChunks, int kPieces>
__global__ void __launch_bounds__(row_threads(kChunks), 1)
    rows_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Tiles g) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr int kGroups = row_groups(kChunks);
    constexpr int kBuffers = row_buffers(kChunks);
    constexpr int kSamples = row_samples(kChunks);
    constexpr int kSlots = kChunks + 1;
    extern __shared__ __align__(128) char shared[];
    auto* const arrived = reinterpret_cast<CopyBarrier*>(shared);
    auto* const started = reinterpret_cast<std::uint32_t*>(shared + kRowHeaderBytes / 2);  // copies to each buffer
    char* const taps = shared + kRowHeaderBytes;
    static_assert(kBuffers <= kMostBuffers);
    S* const buffers = reinterpret_cast<S*>(taps + row_tap_bytes(kChunks));
    const int group = static_cast<int>(threadIdx.x) / kThreads;
    const int thread = static_cast<int>(threadIdx.x) % kThreads;
    const int lane = thread % 32;
    const int warp = thread / 32;

    const auto all = static_cast<unsigned>(a.rows * g.tiles);
    const auto spot_of = [&](unsigned tile) {
        const unsigned row = tile / static_cast<unsigned>(g.tiles);
        return Spot{row, static_cast<int>(tile - row * static_cast<unsigned>(g.tiles))};
    };
    const auto start_of = [&](Spot s) { return g.start + static_cast<std::int64_t>(s.tile) * kRowsTile; };
    const auto is_plain = [&](Spot s, const S* from) {
        return s.tile >= g.inner_first && s.tile < g.inner_last && reinterpret_cast<std::uintptr_t>(from) % 16 == 0;
    };
    const auto copy = [&](unsigned tile, int buffer, std::uint32_t use) {
        if (tile >= all) { return; }
        const Spot s = spot_of(tile);
        const S* const from = static_cast<const S*>(a.in) + s.row * a.in_row + start_of(s);
        if (is_plain(s, from)) {
            copy_bulk(buffers + buffer * kSamples, from, static_cast<unsigned>(g.needed) * sizeof(S), arrived + buffer);
        } else {
            arrive(arrived + buffer);
        }
        raise(started + buffer, use);
    };

    const int tap_exponent = store_row_taps<kChunks>(taps, a, g.before, static_cast<int>(threadIdx.x));
    // What no copy fills: it meets no tap, but may not be a NaN.
    for (int i = g.needed + static_cast<int>(threadIdx.x); i < kSamples; i += row_threads(kChunks)) {
        for (int b = 0; b < kBuffers; ++b) { buffers[b * kSamples + i] = S{}; }
    }
    if (threadIdx.x == 0) {
        for (int b = 0; b < kBuffers; ++b) {
            initialize(arrived + b);
            started[b] = 0;
        }
    }
    fence_for_warpgroup();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int b = 0; b < kBuffers; ++b) { copy(blockIdx.x + b * gridDim.x, b, 1); }
    }
    const std::uint64_t first_entries = matrix_of_cores(__shfl_sync(0xffffffffu, shared_address(taps), 0), 512, 128);

    int buffer = group;
    std::uint32_t use = 1;  // of the buffer
#pragma unroll 1
    for (unsigned tile = blockIdx.x + group * gridDim.x; tile < all; tile += kGroups * gridDim.x) {
        const Spot s = spot_of(tile);
        const S* const row_in = static_cast<const S*>(a.in) + s.row * a.in_row;
        S* const samples = buffers + buffer * kSamples;
        S* const own = samples + warp * (16 * kRowOutputs);
        // Phases are told apart by their parity: first this one's copy must have been started, or a warpgroup that is far ahead
        // of another would take an earlier one for it.
        wait_for(started + buffer, use);
        wait(arrived + buffer, (use - 1) % 2);
        if (!is_plain(s, row_in + start_of(s))) {
#pragma unroll 1
            for (int begin = warp * 256; begin < g.needed; begin += kThreads * 8) {
                fill_at_edge(a, samples + begin, row_in, start_of(s) + begin, min(256, g.needed - begin), lane);
            }
            fence_before_copy();
            wait_for_warpgroup(group);
        }
        // Samples that meet no tap of any output.
        auto* const vectors = reinterpret_cast<uint4*>(samples);
        if (thread == 0 && g.before != 0) {
            vectors[0] = keep_elements(vectors[0], g.before, 8);
            fence_before_copy();
        }
        if (thread == kThreads - 1 && g.end % 8 != 0) {
            vectors[g.end / 8] = keep_elements(vectors[g.end / 8], 0, g.end % 8);
            fence_before_copy();
        }
        __syncwarp();

        constexpr int kVectors = (16 * kRowOutputs + kChunk * (kChunks - 1)) / 8;
        unsigned largest = 0;
#pragma unroll
        for (int v = 0; v < kVectors; v += 32) {
            if (v + 32 <= kVectors || v + lane < kVectors) {
                largest = largest_of_pairs(largest, reinterpret_cast<const uint4*>(own)[v + lane]);
            }
        }
        const int exponent = exponent_of_pairs<S>(largest);
        const __nv_bfloat162 scale = __float2bfloat162_rn(power_of_two(kTopExponent - exponent));
        const int sums_exponent = (kScaled<S> ? exponent - kTopExponent : 0) + tap_exponent - kTopExponent;
        const bool once = sums_exponent >= -126 && sums_exponent <= 127;
        const float factor = power_of_two(once ? sums_exponent : sums_exponent / 2);

        const bool simple = once && a.plain_store != 0;
        std::int64_t o = g.first_output + static_cast<std::int64_t>(s.tile) * kRowsTile + warp * (16 * kRowOutputs);
        S* out = static_cast<S*>(a.out) + s.row * a.out_row + o;
        const bool finite = exponent != kNotFinite && tap_exponent != kNotFinite;
        if (!finite) { sum_rows_as_they_stand(a, out, o, own + g.before, lane); }
        const bool whole = o >= 0 && o + 16 * kRowOutputs <= a.count && reinterpret_cast<std::uintptr_t>(out) % 16 == 0;
        const int mine = lane / 4 * kRowOutputs + lane % 4 * 8;  // the first sample and output of this thread's upper row
        o += mine;
        out += mine;

        unsigned x[kSlots][8];
        const auto take = [&](auto chunk) {
            constexpr int c = decltype(chunk)::value;
            const auto* from = reinterpret_cast<const uint4*>(own + mine + c * kChunk);
            to_fragments<S>(x[c % kSlots], from[0], from[kRowOutputs], scale);
        };
        for_turns<0, kChunks>(take);
        for_turns<0, kPositions>([&](auto position) {
            constexpr int p = decltype(position)::value;
            if constexpr (p == kPositions - 1) {  // all samples have been read
                wait_for_warpgroup(group);
                if (thread == 0) { copy(tile + kBuffers * gridDim.x, buffer, use + 1); }
            }
            float sum[4][4];
            // Not added up before the loop: so many addresses would not fit the registers.
            std::uint64_t entries = first_entries;
            asm volatile("" : "+l"(entries));
            __syncwarp();
            begin_warpgroup_products();
            for_turns<0, kPieces * 2 * kChunks>([&](auto turn) {
                constexpr int kStep = decltype(turn)::value % (2 * kChunks);
                constexpr int kPiece = kPieces - 1 - decltype(turn)::value / (2 * kChunks);
                multiply_rows<decltype(turn)::value == 0, kStep % 2 * 4>(
                    sum, x[(p + kStep / 2) % kSlots],
                    cores_after(entries, kPiece * (row_tap_bytes(kChunks) / 2) + kStep * kChunkTaps));
            });
            commit_warpgroup_products();
            wait_warpgroup_products<0>(sum);
            if constexpr (p + 1 < kPositions) { take(std::integral_constant<int, p + kChunks>{}); }
#pragma unroll
            for (int half = 0; half < 2; ++half) {  // the upper row, then 8 rows on
                float sums[8];
#pragma unroll
                for (int i = 0; i < 8; ++i) { sums[i] = sum[i / 2][2 * half + i % 2] * factor; }
                const uint4 vector = simple ? as_outputs<S>(sums)
                                            : as_finished_outputs<S>(a, float4{sums[0], sums[1], sums[2], sums[3]},
                                                                     float4{sums[4], sums[5], sums[6], sums[7]},
                                                                     once ? 1 : power_of_two(sums_exponent - sums_exponent / 2));
                constexpr int kNext = 8 * kRowOutputs;
                const int at = half * kNext + p * kChunk;
                if (whole && finite) {
                    *reinterpret_cast<uint4*>(out + at) = vector;
                } else if (finite) {
                    store_part(out + at, vector, o + at, a.count);
                }
            }
        });
        buffer += kGroups;
        if (buffer >= kBuffers) {
            buffer -= kBuffers;
            ++use;
        }
    }
#endif
}

}  // namespace tapline::cuda::tensor
