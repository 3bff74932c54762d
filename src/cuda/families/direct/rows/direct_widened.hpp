// Rung 37: what its kernels and their launches share.
#pragma once

#include <cstddef>

#include "cuda/families/direct/direct_few.hpp"

namespace tapline::cuda::widened {

inline constexpr int kThreads = 64;
inline constexpr int kOutputs = 16;          // of a thread
inline constexpr int kTile = 32 * kOutputs;  // of a warp
inline constexpr std::size_t kSharedBytes = sizeof(float) * kOutputs * kThreads;

using Kernel = void (*)(Arguments a, few::TapsByValue<float> taps);

/// For samples of a type and so many taps, kFewTaps at most; null if there is none.
Kernel kernel_of(Dtype dtype, std::int64_t taps);

}  // namespace tapline::cuda::widened
