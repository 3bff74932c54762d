// The kernel of rungs 19 and 20: what it and its launches share.
#pragma once

#include "cuda/families/common/cost.hpp"
#include "cuda/families/common/edges.hpp"

namespace tapline::cuda::staged {

inline constexpr int kThreads = 128;
inline constexpr int kTapChunk = 256;    // taps that a warp keeps in shared memory at a time
inline constexpr int kTapsAtOnce = 512;  // one filter for all that is no longer is kept once a block

using StagedKernel = void (*)(Arguments a, int chunk, int segments, std::int64_t segment_taps, void* partial);
using SumKernel = void (*)(Arguments a, const void* partial, int segments);

/// Null if a thread cannot make so many vectors.
StagedKernel kernel_of(Dtype dtype, Dtype taps_dtype, int vectors);
/// Adds up the segments' sums with the epilogue: partial[(segment * rows + row) * count + o].
SumKernel sum_kernel_of(Dtype dtype);

// Fitted to 70,003 to 25,000,000 samples of all types, one row and 700, with 3 to 1,900 taps, on an H200: within 8%, root of the
// mean square.
inline constexpr Cost kStagedCost{7.5e-6, {1.2, 1.32, 1.22, 1.22, 1.51}, 1.33, 9.1, 1.97, 0.216, 5.74e-6, 0};
/// A block goes through the taps one after the other: with few outputs that takes as long as for a full device. 90,001 outputs,
/// 14,000 taps, H200: 165 us.
double serial_seconds(double taps, const cuda_abi::Device& device);

/// The kernel for launches in which a block goes through `segment_taps` taps at most.
struct Staged {
    StagedKernel kernel;
    int per_vector;
    int tile;   // outputs
    int chunk;  // taps
    int segments = 1;
    std::int64_t segment_taps;
    std::size_t shared_bytes;
    Edges edges;
};
Staged load(const Prepared& prepared, int vectors, std::int64_t segment_taps);

}  // namespace tapline::cuda::staged
