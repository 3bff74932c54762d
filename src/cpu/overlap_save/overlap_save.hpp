// Convolution by fast Fourier transforms of overlapping blocks.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// One transform holds the whole filter.
const core::Algorithm& overlap_save_algorithm();

/// The filter is cut into parts of half a transform: filters so long that one transform would need too much memory, or much
/// longer than the signal.
const core::Algorithm& partitioned_algorithm();

}  // namespace tapline::cpu
