// 26: warps that stay: the tables in shared memory, one segment after the other.
#pragma once

#include "lessons/25_warp_transform.cuh"

namespace tapline::cuda::persistent_transform {

inline constexpr Head kHead("26", "persistent_transform", "", R"(
Idea: As many blocks as the chip has multiprocessors; each copies the tables and the spectrum to its shared memory once, and its
    12 warps go from segment to segment.
Changed: The loop around the segment: the tables are read once a block and no longer once a segment.
Requires: At most 1,537 taps; 121 KB of shared memory a block; not for strict accuracy.
Limited by: A segment's samples: a warp waits for them with nothing else to do, and 12 warps are few to hide it.
)");

inline constexpr int kWarps = 12;
inline constexpr int kTables = warp_transform::kPairs + 2 * warp_transform::kPoints;  // pairs, twiddles, spectrum
inline constexpr int kSharedBytes = (kTables + kWarps * warp_transform::kBufferPoints) * static_cast<int>(sizeof(float2));

static __global__ void __launch_bounds__(32 * kWarps, 1) kernel(Signal s) {
    extern __shared__ uint4 shared[];
    auto* const tables = reinterpret_cast<float2*>(shared);
    overlap_save::copy_by_block<float2>(tables, static_cast<const float2*>(s.tables), kTables);
    __syncthreads();
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const float2* const twiddles = tables + warp_transform::kPairs;
    float2* const exchange = tables + kTables + warp * warp_transform::kBufferPoints;
    const std::int64_t outputs = outputs_of(s.k);
    const std::int64_t step = std::int64_t{gridDim.x} * kWarps * outputs;
    for (std::int64_t first = (std::int64_t{blockIdx.x} * kWarps + warp) * outputs; first < s.m; first += step) {
        float re[32];
        float im[32];
        warp_transform::load_points(s, first - s.origin, lane, re, im);
        warp_transform::convolve_points(re, im, tables, twiddles, twiddles + warp_transform::kPoints, exchange, lane);
        warp_transform::store_points(s, first, lane, re, im);
    }
}

inline Blocks blocks_for(const Problem& p) {
    return {.threads = 32 * kWarps, .outputs = kWarps * outputs_of(p.x.k), .shared_bytes = kSharedBytes, .persistent = true};
}

inline constexpr SignalLesson lesson = transform_lesson(kHead, kernel, blocks_for, warp_tables);

}  // namespace tapline::cuda::persistent_transform
