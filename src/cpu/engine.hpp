// The CPU engine.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// Works in host memory, on any processor.
const core::Engine& engine();

}  // namespace tapline::cpu
