// Elements of any layout in the order of memory.
#pragma once

#include <cstdint>
#include <span>

namespace tapline::cuda {

/// Elements one after the other as axes of other steps, the nearest first.
struct Walk {
    static constexpr int kMostAxes = 9;  // filtered ones, channels, the batch, outer ones
    std::int64_t lengths[kMostAxes];
    std::int64_t steps[kMostAxes];
    std::int64_t first;  ///< where the first element is
    std::int64_t count;
    int filtered, batch;  ///< which of them the one filtered axis and the batch are; -1: not told, or of one element
};

/// An axis of such elements, which of a walk's it became, and what one step of it is when they lie one after the other. Axes of one
/// element or without a step are no part of a walk.
struct WalkAxis {
    std::int64_t length, step;
    int index = -1;
    std::int64_t packed = 0;
};
/// Of at most Walk::kMostAxes axes, which are put in order and told what became of them.
Walk walk_of(std::span<WalkAxis> axes);

inline constexpr int kPassThreads = 256;
inline constexpr int kPassEach = 4;  // elements of a thread
/// Throws CudaError where a launch has no room for them.
unsigned pass_blocks(std::int64_t elements);

}  // namespace tapline::cuda
