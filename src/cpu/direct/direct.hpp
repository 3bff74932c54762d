// Direct convolution of floating-point signals: the algorithm "direct" of the CPU engine.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// Every term is multiplied and added, in SIMD lanes, on all cores; any number of taps, strict accuracy.
const core::Algorithm& direct_algorithm();

}  // namespace tapline::cpu
