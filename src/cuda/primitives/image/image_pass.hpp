// The most taps of a pass (image_pass.cuh).
#pragma once

namespace tapline::cuda {

inline constexpr int kPassTaps = 32;

}  // namespace tapline::cuda
