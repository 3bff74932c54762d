// The kernels of tiles of one warp a segment whose samples come ahead.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save_segment.hpp"

namespace tapline::cuda::overlap_save {

inline constexpr int kAheadStageBytes = 64 * 1024;  // of shared memory behind the segments

/// By sums of f32 or complex64. Not in double, whose arithmetic takes longer than samples do.
SegmentKernel ahead_kernel(bool is_complex);

}  // namespace tapline::cuda::overlap_save
