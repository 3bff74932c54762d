// Rung 32: what its kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda::across {

inline constexpr int kLanes = 32;  // of a block, each with rows and a stretch of them of its own
inline constexpr int kWarps = 4;   // that share a lane's stretch: each makes a quarter of a step
inline constexpr int kThreads = kLanes * kWarps;

/// Rows of a lane; kWide: as many as a vector of 16 bytes has samples.
template <int kBytes, bool kWide>
inline constexpr int kRows = kWide ? 16 / kBytes : 1;
/// Outputs of a row that a thread makes at a time.
template <int kBytes, bool kWide>
inline constexpr int kOutputs = kWide ? 8 : 64 / kBytes;

/// How lanes walk along their rows.
struct Across {
    int steps;                  // of kWarps * kOutputs outputs each
    int parts;                  // of as many samples each: a step's window, and what is on its way
    int taps_at;                // bytes before the taps in shared memory
    int stage_at;               // before what turns outputs around that lie along rows; 0: they lie across them
    std::int64_t filter_bytes;  // from one row's own filter to the next
};

using Kernel = void (*)(Arguments a, Rows rows, Across g);

/// Null if there is none for these types.
Kernel kernel_of(Dtype dtype, Dtype taps_dtype, bool wide);
/// For sums of integers that wrap, samples and taps like them: i32 or i64; else null.
Kernel integer_kernel_of(Dtype dtype, bool wide);
/// The same for rows with filters of their own.
Kernel own_kernel_of(Dtype dtype, Dtype taps_dtype, bool wide);

}  // namespace tapline::cuda::across
