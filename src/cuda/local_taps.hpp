// Which filters are so short that a GPU's errors are to stay local: for the choice among rungs, and for rungs that ask others.
#pragma once

#include <cstdint>

namespace tapline::cuda_abi {

/// core::Engine::local_taps of a GPU. With 127 taps direct summation of a signal takes 2.2 times as long as transforms (H200, 2^28
/// samples), of an image with 9 x 9 1.6 times (4096 x 4096 pixels, 107 and 66 us): too much for what it keeps.
inline constexpr std::int64_t kLocalTaps = 64;

}  // namespace tapline::cuda_abi
