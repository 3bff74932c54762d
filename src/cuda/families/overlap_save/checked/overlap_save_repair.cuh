// Outputs of which a transform does not know whether they keep their bound, summed directly: groups of 32 from a list.
#pragma once

#include "cuda/families/overlap_save/checked/overlap_save_repair.hpp"
#include "cuda/families/overlap_save/overlap_save_outputs.cuh"

namespace tapline::cuda::overlap_save {

/// A lane has kOwnOutputs neighbouring outputs and the taps of one of kShares shares.
inline constexpr int kOwnOutputs = 8;
inline constexpr int kShares = 32 / (kGroup / kOwnOutputs);
/// Taps of a share at a time: one more than a multiple of 8, so that lanes read from different banks of shared memory.
inline constexpr int kMostOfShare = 65;
inline constexpr int kRoundTaps = kShares * kMostOfShare;
/// Samples that a round may read, past those that its taps meet too.
inline constexpr int kRoundSamples = kRoundTaps + kGroup + kOwnOutputs;

template <class S, class H>
inline constexpr int kRepairWarpBytes = (kRoundSamples * static_cast<int>(sizeof(S)) + kRoundTaps * static_cast<int>(sizeof(H)) +
                                         15) /
                                        16 * 16;

/// sums[i] += sum over t < own of taps[t] * x[i + t], in the order of t; `share`, one more than a multiple of 8, is at least `own`.
/// kWhole: equal to it.
template <bool kWhole, class S, class H>
__device__ __forceinline__ void add_share(S (&sums)[kOwnOutputs], const S* x, const H* taps, int share, int own) {
    S window[kOwnOutputs];  // x[i + t] is element (i + t) % 8
#pragma unroll
    for (int i = 0; i < kOwnOutputs; ++i) { window[i] = x[i]; }
    const auto add_tap = [&](int t, int turn) {
        if (!kWhole && t >= own) { return; }
        const H tap = taps[t];
#pragma unroll
        for (int i = 0; i < kOwnOutputs; ++i) { multiply_add(sums[i], window[(i + turn) % kOwnOutputs], tap); }
    };
    int t = 0;
#pragma unroll 1
    for (; t + 1 < share; t += kOwnOutputs) {
#pragma unroll
        for (int turn = 0; turn < kOwnOutputs; ++turn) {
            add_tap(t + turn, turn);
            window[turn] = x[t + turn + kOwnOutputs];
        }
    }
    add_tap(t, 0);
}

/// A warp's place in shared memory, and what it sums there.
template <class S, class H>
class GroupSums {
public:
    __device__ __forceinline__ explicit GroupSums(char* place)
        : samples_(reinterpret_cast<S*>(place)),
          taps_(reinterpret_cast<H*>(place + kRoundSamples * sizeof(S))),
          lane_(static_cast<int>(threadIdx.x) % 32) {}

    /// totals[i]: the sum of output first + 8 (lane % 4) + i of a row, in all lanes. kWholeTaps: all are finite, and then samples
    /// that are zeros need not be multiplied.
    __device__ __forceinline__ void sum(S (&totals)[kOwnOutputs], const Arguments& a, const S* in, const H* taps,
                                        std::int64_t first, bool finite_taps) const {
        const int at = lane_ % 4 * kOwnOutputs;
        const int number = lane_ / 4;  // of the share
#pragma unroll
        for (S& total : totals) { total = S{}; }
#pragma unroll 1
        for (std::int64_t t = 0; t < a.k; t += kRoundTaps) {
            const int count = static_cast<int>(min(std::int64_t{kRoundTaps}, a.k - t));
            const bool any = stage(a, in, taps + t, a.first + first - a.origin + t, count);
            if (any || !finite_taps) {
                const int share = ((count + kShares - 1) / kShares + 6) / 8 * 8 + 1;
                const int own = min(max(count - number * share, 0), share);
                S sums[kOwnOutputs]{};
                const S* const x = samples_ + at + number * share;
                if (count == kShares * share) {
                    add_share<true>(sums, x, taps_ + number * share, share, own);
                } else if (own > 0) {
                    add_share<false>(sums, x, taps_ + number * share, share, own);
                }
#pragma unroll
                for (int i = 0; i < kOwnOutputs; ++i) { multiply_add(totals[i], sums[i], Real{1}); }
            }
            __syncwarp();
        }
#pragma unroll
        for (S& total : totals) {
#pragma unroll
            for (int mask = 4; mask < 32; mask *= 2) {
                const S other = __shfl_xor_of(total, mask);
                multiply_add(total, other, Real{1});
            }
        }
    }

private:
    using Real = typename Element<S>::Real;

    static __device__ __forceinline__ S __shfl_xor_of(const S& x, int mask) {
        if constexpr (kIsComplexElement<S>) {
            return {__shfl_xor_sync(0xffffffffu, x.x, mask), __shfl_xor_sync(0xffffffffu, x.y, mask)};
        } else {
            return __shfl_xor_sync(0xffffffffu, x, mask);
        }
    }
    /// Samples from x(position) on and `count` taps; whether any sample is not zero. By all lanes.
    __device__ __forceinline__ bool stage(const Arguments& a, const S* in, const H* taps, std::int64_t position, int count) const {
        constexpr int kAtOnce = 8;  // loads that do not wait for each other
        fill_at_edge(a, samples_, in, position - a.in_first, count + kGroup - 1, lane_);
#pragma unroll 1
        for (int base = lane_; base < count; base += 32 * kAtOnce) {
            H held[kAtOnce];
#pragma unroll
            for (int u = 0; u < kAtOnce; ++u) {
                if (base + 32 * u < count) { held[u] = load_element(taps + base + 32 * u); }
            }
#pragma unroll
            for (int u = 0; u < kAtOnce; ++u) {
                if (base + 32 * u < count) { taps_[base + 32 * u] = held[u]; }
            }
        }
        __syncwarp();
        bool any = false;
        for (int i = lane_; i < count + kGroup - 1; i += 32) {
            const S x = samples_[i];
            if constexpr (kIsComplexElement<S>) {
                any = any || x.x != 0 || x.y != 0;
            } else {
                any = any || x != 0;
            }
        }
        return __any_sync(0xffffffffu, any);
    }

    S* samples_;
    H* taps_;
    int lane_;
};

/// A warp a group, of groups that lie together as far apart as can be.
template <class S, class H>
__global__ void __launch_bounds__(kRepairThreads)
    repair_kernel(const __grid_constant__ Arguments a, const __grid_constant__ Repair r) {
    extern __shared__ uint4 repair_shared[];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const unsigned warp = threadIdx.x / 32;
    const unsigned count = *r.checks.failed_groups;
    const GroupSums<S, H> group_sums(reinterpret_cast<char*>(repair_shared) + static_cast<int>(warp) * kRepairWarpBytes<S, H>);
    for (unsigned i = blockIdx.x + gridDim.x * warp; i < count; i += gridDim.x * (blockDim.x / 32)) {
        const std::int64_t group = r.checks.failed[i];
        const std::int64_t row = group / r.checks.groups;
        const std::int64_t first = group % r.checks.groups * kGroup;
        const std::int64_t filter = (r.checks.first_filter + row) % r.checks.filters;
        const S* const in = static_cast<const S*>(a.in) + row * a.in_row;
        const H* const taps = reinterpret_cast<const H*>(static_cast<const char*>(a.taps) + filter * r.filter_bytes);
        S value{};
        std::int64_t o = first + lane;
        if (a.exact_edges != kMayMultiplyZeros) {
            if (o < a.count) { value = exact_sum<S, H>(a, in, taps, a.first + o, 0, a.k); }
        } else {
            S totals[kOwnOutputs];
            group_sums.sum(totals, a, in, taps, first, r.finite_taps != 0);
            const int own = lane / 4;
            o = first + lane % 4 * kOwnOutputs + own;
#pragma unroll
            for (int j = 0; j < kOwnOutputs; ++j) { value = j == own ? totals[j] : value; }
        }
        if (o < a.count) { store_anywhere(a, static_cast<S*>(a.out), row * a.out_row + o * a.out_sample, finish(a, value)); }
        __syncwarp();
    }
}

}  // namespace tapline::cuda::overlap_save
