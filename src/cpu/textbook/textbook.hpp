// The naive loop: one output at a time, one tap at a time. The lowest rung of the CPU's ladder.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

const core::Algorithm& textbook_algorithm();

}  // namespace tapline::cpu
