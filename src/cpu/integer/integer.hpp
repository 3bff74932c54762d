// Exact convolution of bool and integer signals: the algorithm "integer" of the CPU engine.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// Direct summation in the narrowest accumulator that cannot overflow, from 32 to 192 bits, chosen tile by tile.
const core::Algorithm& integer_algorithm();

}  // namespace tapline::cpu
