// The signal and its surroundings under a zero boundary.
#pragma once

#include <cstdint>

namespace tapline::cuda {

/// Whether the signal has a sample at `position`: one comparison, since negative positions become huge without a sign.
__device__ inline bool inside(std::int64_t position, std::int64_t n) {
    return static_cast<std::uint64_t>(position) < static_cast<std::uint64_t>(n);
}

/// What a tile holds at `position`: the sample, or the zero that stands for none.
__device__ inline float sample_or_zero(const float* in, std::int64_t position, std::int64_t n) {
    return inside(position, n) ? in[position] : 0.0f;
}

}  // namespace tapline::cuda
