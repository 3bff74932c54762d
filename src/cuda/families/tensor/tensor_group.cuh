// Rung 21's products of 16-bit samples where four warps multiply together (compute capability 9.0): a product of theirs takes the
// samples from shared memory itself, and the taps stay in registers.
#pragma once

#include "cuda/families/tensor/group_tile.cuh"
#include "cuda/families/tensor/tensor.hpp"
#include "cuda/primitives/copy_async.cuh"
#include "cuda/primitives/slow_tile.cuh"
#include "cuda/primitives/warpgroup.cuh"

namespace tapline::cuda::tensor {

/// Output 32 a + b = sum over m of T[b][m] X[m][a] with X[m][a] = sample 32 a + m, an overlapping view of the samples, and T[b][m]
/// = tap m - b, the halves high and low of it in rows of their own: 64 rows are 32 outputs. Steps are groups of 16 m.
///
/// A block makes `run` tiles of 128 columns one after the other. While the products of one run, samples of the second next are
/// copied and those of the next become halves; then its sums leave, in halves of 64 columns.
/// Shared memory: two tiles' halves in planes, two tiles' samples as they came, a stage for the sums, the taps, exponents.
template <class S, int kSteps>
__global__ void __launch_bounds__(kThreads, group_blocks(kSteps))
    warpgroup_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Tiles g) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
    constexpr int kVectors = kGroupTile / 8 - 4 + 2 * kSteps;  // of the samples that products read
    constexpr int kWhole = kGroupTile / 8 / kThreads;
    extern __shared__ __align__(128) char shared[];
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    char* const planes = shared;
    S* const raw = reinterpret_cast<S*>(shared + 2 * kPlanesBytes);
    char* const stage = shared + 2 * kPlanesBytes + 2 * kRawBytes;
    auto* const padded = reinterpret_cast<float*>(stage + kGroupTile * 2);
    auto* const exponents = reinterpret_cast<int(*)[4]>(padded + 16 * kMostSteps + 32);
    const auto planes_address = static_cast<unsigned>(__cvta_generic_to_shared(planes));
    const auto stage_address = static_cast<unsigned>(__cvta_generic_to_shared(stage));

    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * g.run;
    Spot now{first / g.tiles, 0};
    if (now.row >= a.rows) { return; }
    now.tile = static_cast<int>(first - now.row * g.tiles);
    const std::int64_t all = a.rows * g.tiles;
    const int count = static_cast<int>(min(static_cast<std::int64_t>(g.run), all - first));
    const auto after = [&](Spot s) {
        ++s.tile;
        if (s.tile == static_cast<int>(g.tiles)) { s = {s.row + 1, 0}; }
        return s;
    };
    const auto samples_of = [&](Spot s) {
        return static_cast<const S*>(a.in) + s.row * a.in_row + g.start + static_cast<std::int64_t>(s.tile) * kGroupTile;
    };
    const auto is_plain = [&](Spot s) {
        return s.tile >= g.inner_first && s.tile < g.inner_last && reinterpret_cast<std::uintptr_t>(samples_of(s)) % 16 == 0;
    };
    const auto copy = [&](Spot s, S* to) {
        const S* from = samples_of(s) + thread * 8;
        to += thread * 8;
#pragma unroll
        for (int v = 0; v < kWhole; ++v) { copy_16_async(to + v * kThreads * 8, from + v * kThreads * 8); }
        if (kWhole * kThreads + thread < g.needed / 8) { copy_16_async(to + kWhole * kThreads * 8, from + kWhole * kThreads * 8); }
    };
    const auto fill = [&](Spot s, S* to) {
        const S* in = static_cast<const S*>(a.in) + s.row * a.in_row;
        const std::int64_t start = g.start + static_cast<std::int64_t>(s.tile) * kGroupTile;
#pragma unroll 1
        for (int begin = warp * 256; begin < g.needed; begin += kThreads * 8) {
            fill_at_edge(a, to + begin, in, start + begin, min(256, g.needed - begin), lane);
        }
    };
    // Every thread converts what it, or its warp, has filled.
    const auto convert = [&](int parity) {
        uint4* const own = reinterpret_cast<uint4*>(raw + parity * (kRawBytes / 2)) + thread;
        unsigned largest = 0;
        if (8 * thread < g.before) { own[0] = keep_elements(own[0], g.before - 8 * thread, 8); }
#pragma unroll
        for (int v = 0; v < kWhole; ++v) { largest = largest_of_pairs(largest, own[v * kThreads]); }
        if (kWhole * kThreads + thread < kVectors) {
            const uint4 last = keep_elements(own[kWhole * kThreads], 0, g.end - (kWhole * kThreads + thread) * 8);
            own[kWhole * kThreads] = last;
            largest = largest_of_pairs(largest, last);
        }
        const int of_warp = exponent_of_pairs<S>(largest);
        if (lane == 0) { exponents[parity][warp] = of_warp; }
        __syncthreads();
        const int exponent = max(max(exponents[parity][0], exponents[parity][1]), max(exponents[parity][2], exponents[parity][3]));
        const __nv_bfloat162 scale = __float2bfloat162_rn(power_of_two(kTopExponent - exponent));
        char* const to = planes + parity * kPlanesBytes + thread % 4 * kPlaneBytes + thread / 4 * 16;
#pragma unroll
        for (int v = 0; v <= kWhole; ++v) {
            if (v < kWhole || kWhole * kThreads + thread < kVectors) {
                *reinterpret_cast<uint4*>(to + v * (kThreads / 4 * 16)) = as_halves<S>(own[v * kThreads], scale);
            }
        }
        return exponent;
    };

    if (is_plain(now)) {
        copy(now, raw);
    } else {
        fill(now, raw);
    }
    commit_copies();
    if (count > 1) {
        const Spot next = after(now);
        if (is_plain(next)) {
            copy(next, raw + kRawBytes / 2);
        } else {
            fill(next, raw + kRawBytes / 2);
        }
    }
    commit_copies();
    unsigned taps[kSteps][4];
    int tap_exponent = build_taps<kSteps>(taps, padded, exponents[1], a, g.before, now.row);
    wait_copies<1>();
    __syncwarp();
    int exponent = convert(0);
    fence_for_warpgroup();
    __syncthreads();

    float sum[2][8][4];
    const auto multiply_half = [&](auto half, int parity) {
        constexpr int kHalf = decltype(half)::value;
        const std::uint64_t base = matrix_of_cores(planes_address + parity * kPlanesBytes + kHalf * (64 * 16), kPlaneBytes, 128);
        __syncwarp();
        begin_warpgroup_products();
        for_turns<0, kSteps>([&](auto step) {
            constexpr int s = decltype(step)::value;
            multiply_warpgroup<s == 0>(sum[kHalf], taps[s], cores_after(base, s % 2 * 2 * kPlaneBytes + s / 2 * 16));
        });
        commit_warpgroup_products();
    };
    const auto outputs_of = [&](Spot s, int half) {
        return g.first_output + static_cast<std::int64_t>(s.tile) * kGroupTile + half * (kGroupTile / 2);
    };
    const auto put_half = [&](auto half, Spot s, int exponent_of_sums) {
        constexpr int kHalf = decltype(half)::value;
        const bool finite = exponent_of_sums != kNotFinite;
        char* const own_stage = stage + kHalf * kGroupTile;
        if (finite) { stage_sums<S>(a, stage_address + kHalf * kGroupTile, sum[kHalf], exponent_of_sums, lane, warp); }
        __syncthreads();
        const std::int64_t o = outputs_of(s, kHalf);
        if (finite) { store_half<S>(static_cast<S*>(a.out) + s.row * a.out_row + o, own_stage, o, a.count, thread); }
    };
    using First = std::integral_constant<int, 0>;
    using Second = std::integral_constant<int, 1>;
    for (int done = 0, parity = 0; done < count; ++done, parity ^= 1) {
        const bool finite = exponent != kNotFinite && tap_exponent != kNotFinite;
        const int sums_exponent = finite ? (kScaled<S> ? exponent - kTopExponent : 0) + tap_exponent - kTopExponent : kNotFinite;
        const Spot later = after(after(now));
        const bool copies = done + 2 < count && is_plain(later);
        if (!finite) {
            const std::int64_t o = outputs_of(now, 0);
            sum_as_they_stand(a, static_cast<S*>(a.out) + now.row * a.out_row + o, o, raw + parity * (kRawBytes / 2) + g.before,
                              now.row, thread);
            __syncthreads();
        }
        if (done + 2 < count && !copies) { fill(later, raw + parity * (kRawBytes / 2)); }
        multiply_half(First{}, parity);
        multiply_half(Second{}, parity);
        if (copies) { copy(later, raw + parity * (kRawBytes / 2)); }
        commit_copies();
        int next_exponent = 0;
        if (done + 1 < count) {
            wait_copies<1>();
            __syncwarp();
            next_exponent = convert(parity ^ 1);
            fence_for_warpgroup();
        }
        wait_warpgroup_products<1>(sum[0]);
        put_half(First{}, now, sums_exponent);
        wait_warpgroup_products<0>(sum[1]);
        put_half(Second{}, now, sums_exponent);
        const Spot last = now;
        now = after(now);
        exponent = next_exponent;
        if (a.taps_row_bytes != 0 && done + 1 < count && now.row != last.row) {
            tap_exponent = build_taps<kSteps>(taps, padded, exponents[parity], a, g.before, now.row);
        }
    }
#endif
}

}  // namespace tapline::cuda::tensor
