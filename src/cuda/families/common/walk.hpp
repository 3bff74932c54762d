// Elements of any layout in the order of memory.
#pragma once

#include <array>
#include <cstdint>

#include "cuda/rung.hpp"

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

/// The samples or the outputs of a problem as a walk, for one element of its outer axes if those are left out.
struct WalkSide {
    enum Role : std::size_t { kX, kY, kZ, kChannels, kBatch, kOuter };  // and the outer axes that follow
    std::array<WalkAxis, Walk::kMostAxes> axes;
    Walk walk;
};
WalkSide samples_of(const Problem& p);
WalkSide outputs_of(const Problem& p);

/// Elements from one place of an axis to the next in a job, which may lie otherwise than its problem says.
std::int64_t sample_step(const Problem& p, const Job& job, std::size_t role);
std::int64_t output_step(const Problem& p, const Job& job, std::size_t role);
/// The walk of a job: the same order of axes, from its samples' place 0, or its first output. Allocates nothing.
Walk sample_walk(const WalkSide& side, const Problem& p, const Job& job);
Walk output_walk(const WalkSide& side, const Problem& p, const Job& job);

inline constexpr int kPassThreads = 256;
inline constexpr int kPassEach = 4;  // elements of a thread
/// Throws CudaError where a launch has no room for them.
unsigned pass_blocks(std::int64_t elements);

}  // namespace tapline::cuda
