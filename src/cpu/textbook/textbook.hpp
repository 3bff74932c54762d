// The naive loop: one output at a time, one tap at a time. The lowest rung of the CPU's ladder.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// Solves every problem that the engine accepts: one to three filtered axes, any strides, boundaries and rates.
const core::Algorithm& textbook_algorithm();

}  // namespace tapline::cpu
