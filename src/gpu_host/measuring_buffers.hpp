// Effort::measure on a GPU: the kernels alone, since what crosses the link is the same for every candidate.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::gpu_host {

/// For executables of this device that were all prepared for one problem, which may lie packed or as the caller has it.
std::unique_ptr<core::MeasuringBuffers> measuring_buffers(int device);

}  // namespace tapline::gpu_host
