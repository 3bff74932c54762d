// The kernel of rungs 19 and 20: what it and its launches share.
#pragma once

#include <cstddef>

#include "cuda/families/common/edges.hpp"

namespace tapline::cuda {

struct Cost;

namespace staged {

inline constexpr int kThreads = 128;
inline constexpr int kTapChunk = 256;    // taps that a warp keeps in shared memory at a time
inline constexpr int kTapsAtOnce = 512;  // one filter for all that is no longer is kept once a block

using StagedKernel = void (*)(Arguments a, int chunk, int segments, std::int64_t segment_taps, void* partial);
using SumKernel = void (*)(Arguments a, const void* partial, int segments);

/// Null if a thread cannot make so many vectors.
StagedKernel kernel_of(Dtype dtype, Dtype taps_dtype, int vectors);
/// Adds up the segments' sums with the epilogue: partial[(segment * rows + row) * count + o].
SumKernel sum_kernel_of(Dtype dtype);

extern const Cost kStagedCost;
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

}  // namespace staged
}  // namespace tapline::cuda
