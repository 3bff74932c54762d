// Rung 21's products of 16-bit samples of long signals (compute capability 9.0): samples stay in registers, taps in shared memory.
#pragma once

#include "cuda/families/tensor/row_tile.cuh"
#include "cuda/families/tensor/tensor.hpp"
#include "cuda/primitives/slow_tile.cuh"

namespace tapline::cuda::tensor {

/// Tiles on their way to a block's buffers.
template <class S, int kChunks, int kPieces>
struct RowCopies {
    const Arguments& a;
    const Tiles& g;
    S* buffers;
    CopyBarrier* arrived;
    std::uint64_t* started;  // copies to each buffer
    unsigned all;            // tiles

    [[nodiscard]] __device__ __forceinline__ Spot spot_of(unsigned tile) const {
        const unsigned row = tile / static_cast<unsigned>(g.tiles);
        return Spot{row, static_cast<int>(tile - row * static_cast<unsigned>(g.tiles))};
    }
    [[nodiscard]] __device__ __forceinline__ std::int64_t start_of(Spot s) const {
        return g.start + static_cast<std::int64_t>(s.tile) * rows_tile(kChunks, kPieces);
    }
    [[nodiscard]] __device__ __forceinline__ const S* row_of(Spot s) const {
        return static_cast<const S*>(a.in) + s.row * a.in_row;
    }
    [[nodiscard]] __device__ __forceinline__ bool is_plain(Spot s, const S* from) const {
        return s.tile >= g.inner_first && s.tile < g.inner_last && reinterpret_cast<std::uintptr_t>(from) % 16 == 0;
    }
    [[nodiscard]] __device__ __forceinline__ Part part_of(Spot s, const S* from) const {
        return is_plain(s, from) ? Part{0, g.needed} : part_copied(a, from, start_of(s), g.needed);
    }
    __device__ __forceinline__ void start(unsigned tile, int buffer, std::uint32_t use) const {
        if (tile < all) {
            const Spot s = spot_of(tile);
            const S* const from = row_of(s) + start_of(s);
            const Part part = part_of(s, from);
            if (part.begin < part.end) {
                copy_bulk(buffers + buffer * row_samples(kChunks, kPieces) + part.begin, from + part.begin,
                          static_cast<unsigned>(part.end - part.begin) * sizeof(S), arrived + buffer);
            } else {
                arrive(arrived + buffer);
            }
        }
        tell_start(started + buffer, use, tile);
    }
    /// What no copy brings of a tile that has come: beyond the signal's ends, and in whose place zeros are, as it meets no tap. By
    /// a warpgroup's threads.
    __device__ __forceinline__ void complete(Spot s, S* samples, int group, int thread) const {
        const S* const row_in = row_of(s);
        if (!is_plain(s, row_in + start_of(s))) {
            const Part part = part_copied(a, row_in + start_of(s), start_of(s), g.needed);
            const auto fill = [&](int begin, int end) {
#pragma unroll 1
                for (int i = begin + thread / 32 * 256; i < end; i += kThreads * 8) {
                    fill_at_edge(a, samples + i, row_in, start_of(s) + i, min(256, end - i), thread % 32);
                }
            };
            fill(0, part.begin);
            fill(part.end, g.needed);
            fence_before_copy();
            wait_for_warpgroup(group);
        }
        auto* const vectors = reinterpret_cast<uint4*>(samples);
        if (8 * thread < g.before) {
            vectors[thread] = keep_elements(vectors[thread], g.before - 8 * thread, 8);
            fence_before_copy();
        }
        if (thread == kThreads - 1 && g.end % 8 != 0) {
            vectors[g.end / 8] = keep_elements(vectors[g.end / 8], 0, g.end % 8);
            fence_before_copy();
        }
        __syncwarp();
    }
};

/// A tile is 64 rows of 160 outputs or more, one behind the other in memory. Output 32 p + b of row a = sum over m of X[a][m]
/// T[m][b] with X[a][m] = sample 32 p + m of row a and T[m][b] = tap m - b. A thread keeps its part of `kChunks` chunks of 32
/// samples of two rows, and from one p to the next takes one more: T is the same for all. Both the samples of a chunk and the
/// outputs of a position are in an order that makes what a thread has 8 neighbours, so they go to and from shared memory as
/// vectors.
///
/// What is multiplied, `H`, are halves, which bf16 samples become, or, where one product is enough because taps are of the signal's
/// type, samples as they are: bf16 has a float's range and needs no scale.
///
/// One block a multiprocessor; its warpgroups take turns with its tiles, and copies of the next ones are on their way meanwhile:
/// while one warpgroup loads, converts and stores, others multiply. The low halves of the taps come first, into the same sums.
/// Outputs take the place of samples that have been read, and leave in bulk while the warpgroup begins its next tile: whole lines,
/// which the memory likes better than each thread's vectors. The samples that a warp's last row reads of
/// the next warp's are set aside first.
///
/// With `taken`, a number that is 0 before the launch, whichever block has room takes the next tile: what all copy at a time then
/// lies together, which memory answers sooner than tiles whose blocks are further and further apart, one for each block in turn.
/// Copies in such pieces alone, 2^28 samples: 267 us instead of 276.
///
/// Shared memory: where copies arrive, how many were started and of which tiles, T, samples set aside, tiles.
template <class S, class H, int kChunks, int kPieces>
__global__ void __launch_bounds__(row_threads(kChunks), 1)
    rows_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Tiles g, unsigned* taken) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr int kGroups = row_groups(kChunks);
    constexpr int kBuffers = row_buffers(kChunks, kPieces);
    constexpr int kSamples = row_samples(kChunks, kPieces);
    constexpr int kPositions = row_positions(kChunks, kPieces);
    constexpr int kRowOutputs = row_outputs(kChunks, kPieces);
    constexpr int kOutputs = 16 * kRowOutputs;  // of a warp
    constexpr int kBeyond = row_samples_beyond(kChunks);
    constexpr bool kScaledTaps = std::is_same_v<H, __half>;
    // Whether there is an epilogue is asked at every position: where memory limits before a call, where products do before code in
    // line, as they would have to be over before a call.
    constexpr bool kEpilogueInLine = kPieces == 2 || kChunks > kMostChunks;
    constexpr int kTaken = row_chunks_taken(kChunks, kPieces);
    static_assert(row_rows_after(kChunks, kPieces) <= 2 && kBuffers > kGroups && kBuffers <= kMostBuffers);
    extern __shared__ __align__(128) char shared[];
    auto* const arrived = reinterpret_cast<CopyBarrier*>(shared);
    auto* const started = reinterpret_cast<std::uint64_t*>(shared + kRowHeaderBytes / 2);  // copies to each buffer
    char* const taps = shared + kRowHeaderBytes;
    char* const set_aside = taps + kPieces * row_tap_bytes(kChunks);
    S* const buffers = reinterpret_cast<S*>(set_aside + row_beyond_bytes(kChunks));
    const int group = static_cast<int>(threadIdx.x) / kThreads;
    const int thread = static_cast<int>(threadIdx.x) % kThreads;
    const int lane = thread % 32;
    const int warp = thread / 32;
    S* const beyond = reinterpret_cast<S*>(set_aside) + (group * 3 + warp) * kBeyond;  // of all but the last warp

    const auto all = static_cast<unsigned>(a.rows * g.tiles);
    const RowCopies<S, kChunks, kPieces> copies{a, g, buffers, arrived, started, all};

    // The first tiles come while T is made; more of them would only be in their way.
    if (threadIdx.x == 0) {
        for (int b = 0; b < kBuffers; ++b) {
            initialize(arrived + b);
            started[b] = 0;
        }
        fence_before_copy();
        for (int b = 0; b < kGroups; ++b) { copies.start(blockIdx.x + b * gridDim.x, b, 1); }
    }
    static_assert(row_scratch_floats(kChunks) * 4 <= row_beyond_bytes(kChunks));
    const int tap_exponent =
        store_row_taps<H, kChunks, kPieces>(taps, reinterpret_cast<float*>(set_aside), a, g.before, static_cast<int>(threadIdx.x));
    // What no copy fills: it meets no tap, but may not be a NaN.
    for (int i = g.needed + static_cast<int>(threadIdx.x); i < kSamples; i += row_threads(kChunks)) {
        for (int b = 0; b < kBuffers; ++b) { buffers[b * kSamples + i] = S{}; }
    }
    fence_for_warpgroup();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int b = kGroups; b < kBuffers; ++b) { copies.start(blockIdx.x + b * gridDim.x, b, 1); }
    }
    const std::uint64_t first_entries = matrix_of_cores(__shfl_sync(0xffffffffu, shared_address(taps), 0), 512, 128);

    int buffer = group;
    std::uint32_t use = 1;  // of the buffer
    int leaving = 0;        // the buffer whose outputs are on their way, for which use it will be next
    std::uint32_t later_use = 0;
#pragma unroll 1
    for (;;) {
        // Phases are told apart by their parity: first this one's copy must have been started, or a warpgroup that is far ahead
        // of another would take an earlier one for it.
        const unsigned tile = wait_for_start(started + buffer, use);
        if (tile >= all) { break; }
        unsigned later_tile = tile + (kBuffers - kGroups) * gridDim.x;
        if (thread == 0 && later_use != 0 && taken != nullptr) { later_tile = kBuffers * gridDim.x + atomicAdd(taken, 1u); }
        const Spot s = copies.spot_of(tile);
        S* const samples = buffers + buffer * kSamples;
        S* const own = samples + warp * kOutputs;
        wait(arrived + buffer, (use - 1) % 2);
        copies.complete(s, samples, group, thread);

        unsigned largest = 0;
#pragma unroll
        for (int i = lane; i < kBeyond / 8; i += 32) {
            const uint4 vector = reinterpret_cast<const uint4*>(own + kOutputs)[i];
            largest = largest_of_pairs(largest, vector);
            if (warp < 3) { reinterpret_cast<uint4*>(beyond)[i] = vector; }
        }
        __syncwarp();
        S* const upper = own + lane / 4 * kRowOutputs + lane % 4 * 8;  // the first samples and outputs of this thread's two rows
        S* const lower = upper + 8 * kRowOutputs;
        // The rows after the lower one: of row 15 both are the next warp's, of row 14 the second.
        const S* const next = warp < 3 && lane >= 28 ? beyond + lane % 4 * 8 : lower + kRowOutputs;
        const S* const second = warp < 3 && lane >= 28   ? next + kRowOutputs
                                : warp < 3 && lane >= 24 ? beyond + lane % 4 * 8
                                                         : lower + 2 * kRowOutputs;
        unsigned x[kTaken][8];
        const auto load = [&](auto chunk) {
            constexpr int c = decltype(chunk)::value;
            const S* const from = c < kPositions       ? lower + c * kChunk
                                  : c < 2 * kPositions ? next + (c - kPositions) * kChunk
                                                       : second + (c - 2 * kPositions) * kChunk;
            to_fragments(x[c % kTaken], *reinterpret_cast<const uint4*>(upper + c * kChunk), *reinterpret_cast<const uint4*>(from));
        };
        for_turns<0, kTaken>([&](auto chunk) {  // all that the rows themselves have, or more
            load(chunk);
            largest = largest_of_pairs<S>(largest, x[decltype(chunk)::value % kTaken]);
        });
        int exponent = exponent_of_pairs<S>(largest);
        constexpr bool kScaledSamples = kScaled<S> && std::is_same_v<H, __half>;
        // Sums are scaled back by one factor: where that would be less than the least float's, samples are made smaller instead,
        // and lose what no float can hold; where it would be infinite, as good as all outputs are, and they are summed apart.
        if constexpr (kScaledSamples) { exponent = max(exponent, 2 * kTopExponent - 126 - tap_exponent); }
        const __nv_bfloat162 scale = __float2bfloat162_rn(power_of_two(kTopExponent - exponent));
        const int sums_exponent = !kScaledTaps ? 0 : (kScaledSamples ? exponent - kTopExponent : 0) + tap_exponent - kTopExponent;
        const float factor = power_of_two(sums_exponent);

        const std::int64_t o = g.first_output + static_cast<std::int64_t>(s.tile) * rows_tile(kChunks, kPieces) + warp * kOutputs;
        S* const out = static_cast<S*>(a.out) + s.row * a.out_row + o;
        const bool finite = exponent != kNotFinite && tap_exponent != kNotFinite && sums_exponent <= 127;
        if (!finite) {
            sum_rows_as_they_stand(a, out, o, own + g.before, kOutputs, lane);
            for_turns<0, kTaken>(load);  // not kept over the call
        }
        const auto take = [&](auto chunk) {
            load(chunk);
            if constexpr (kScaledSamples) { convert_fragments<S>(x[decltype(chunk)::value % kTaken], scale); }
        };
        if constexpr (kScaledSamples) {
            for_turns<0, kTaken>([&](auto chunk) { convert_fragments<S>(x[decltype(chunk)::value % kTaken], scale); });
        }
        float sum[2][4][4];
        // In line, as products must not be under way over a call.
        const auto multiply = [&](auto position) __attribute__((always_inline)) {
            constexpr int p = decltype(position)::value;
            // Not added up before the loop: so many addresses would not fit the registers.
            std::uint64_t entries = first_entries;
            asm volatile("" : "+l"(entries));
            __syncwarp();
            begin_warpgroup_products();
            for_turns<0, kPieces * 2 * kChunks>([&](auto turn) {
                constexpr int kStep = decltype(turn)::value % (2 * kChunks);
                constexpr int kPiece = kPieces - 1 - decltype(turn)::value / (2 * kChunks);
                multiply_rows<H, decltype(turn)::value == 0, kStep % 2 * 4>(
                    sum[p % 2], x[(p + kStep / 2) % kTaken],
                    cores_after(entries, kPiece * row_tap_bytes(kChunks) + kStep * kChunkTaps));
            });
            commit_warpgroup_products();
        };
        multiply(std::integral_constant<int, 0>{});
        // The outputs before have left their buffer; every warp has set aside what the next one will overwrite.
        if (lane == 0) { wait_stores_read(); }
        wait_for_warpgroup(group);
        if (thread == 0 && later_use != 0) { copies.start(later_tile, leaving, later_use); }
        // The same for the four warps, whose products must be the same too.
        const bool plain_store = a.plain_store != 0;
        for_turns<0, kPositions>([&](auto position) __attribute__((always_inline)) {
            constexpr int p = decltype(position)::value;
            if constexpr (p + 1 < kPositions) { multiply(std::integral_constant<int, p + 1>{}); }
            auto& sums_of_p = sum[p % 2];
            wait_warpgroup_products<(p + 1 < kPositions ? 1 : 0)>(sums_of_p);
            if constexpr (p + kTaken < kPositions + kChunks - 1) { take(std::integral_constant<int, p + kTaken>{}); }
            __syncwarp();
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float sums[8];
#pragma unroll
                for (int i = 0; i < 8; ++i) { sums[i] = sums_of_p[i / 2][2 * half + i % 2] * (kScaledTaps ? factor : 1); }
                uint4& to = *reinterpret_cast<uint4*>((half == 0 ? upper : lower) + p * kChunk);
                if constexpr (kEpilogueInLine) {
                    if (!plain_store) {
#pragma unroll
                        for (int i = 0; i < 8; ++i) { sums[i] = finish(a, sums[i]); }
                    }
                    to = as_outputs<S>(sums);
                } else if (plain_store) {
                    to = as_outputs<S>(sums);
                } else {
                    to = as_finished_outputs<S>(a, float4{sums[0], sums[1], sums[2], sums[3]},
                                                float4{sums[4], sums[5], sums[6], sums[7]});
                }
            }
        });
        fence_before_copy();
        __syncwarp();
        if (finite && o >= 0 && o + kOutputs <= a.count && reinterpret_cast<std::uintptr_t>(out) % 16 == 0) {
            if (lane == 0) { store_bulk(out, own, kOutputs * sizeof(S)); }
        } else if (finite) {
            store_rows_part(out, own, kOutputs, o, a.count, lane);
        }
        leaving = buffer;
        later_use = use + 1;
        buffer += kGroups;
        if (buffer >= kBuffers) {
            buffer -= kBuffers;
            ++use;
        }
    }
    // Who waits for the copy that this warpgroup would have started next has no more tiles either.
    if (thread == 0 && later_use != 0) { copies.start(all, leaving, later_use); }
    if (lane == 0) { wait_stores(); }
#endif
}

}  // namespace tapline::cuda::tensor
