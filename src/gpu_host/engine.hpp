// The CUDA engine as the rest of the library sees engines: one per device, whose algorithms are the rungs of libtapline_cuda.so.
#pragma once

#include <optional>
#include <string>

#include "core/choice/engine.hpp"

namespace tapline::gpu_host {

/// The device of a name: 0 of "cuda", N of "cuda:N"; nothing for another name.
std::optional<int> device_index(const std::string& name);

/// The engine of one device, "cuda:N"; each device has an engine of its own, since each may choose differently.
/// Throws Error (device) with the reason if it cannot be used.
const core::Engine& engine(int device);

/// The same for problems that are executed in parts, in the device's memory: of its algorithms those that take pieces, each asked
/// about one element of outer axes, and two channels are no complex samples.
const core::Engine& engine_of_parts(int device);

}  // namespace tapline::gpu_host
