// Checked segments on the host: their kernels, the bounds of filters.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"

namespace tapline::cuda::overlap_save {

/// Of one warp to eight.
inline constexpr std::array<int, 4> kCheckedWarpCounts{1, 2, 4, 8};

/// The bound of segments of so many warps and taps in correlation order.
FilterBound bound_of(const std::byte* taps, std::int64_t count, Dtype type, int warps);

}  // namespace tapline::cuda::overlap_save

namespace tapline::cuda {

const Rung& overlap_save_checked();

}  // namespace tapline::cuda
