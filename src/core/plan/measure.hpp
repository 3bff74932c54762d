// Effort::measure in host memory: candidates timed on this machine on data of the problem's own size.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::core {

/// For executables that take host memory. Throws Error (memory).
std::unique_ptr<MeasuringBuffers> host_measuring_buffers(const Resolved& problem);

}  // namespace tapline::core
