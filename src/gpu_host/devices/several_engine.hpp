// Several GPUs as one engine, for host buffers: each takes a share of every call through its own pinned chunks.
#pragma once

#include <vector>

#include "core/choice/engine.hpp"

namespace tapline::gpu_host {

/// The engine "cuda:0,1". Its algorithms are those of the first device, prepared on all; a device for which nothing is left goes
/// without. An error of one stops all. Throws Error (unsupported) for devices of different models: bits would depend on who
/// computes them.
const core::Engine& engine_of_devices(const std::vector<int>& devices);

/// Throws that Error.
void check_same_model(const std::vector<int>& devices);

}  // namespace tapline::gpu_host
