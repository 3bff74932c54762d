// Plans timed beside the copy, as `tapline bench` writes it down.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/measure/cuda_device.hpp"

namespace tapline::cli {

/// On a CPU, into data.output and data.copied: in turns with std::memcpy of the signal on the plan's threads, and with streaming
/// stores.
void add_cpu_times(nlohmann::ordered_json& json, const Plan& plan, const CaseData& data, double seconds);

/// On a GPU, of what `prepared` has prepared: with a cold L2 cache and a warm one, in turns with the device's own copy.
void add_gpu_times(nlohmann::ordered_json& json, const CudaProblem& prepared, double seconds);

/// On a GPU, from data.signal to data.output in ordinary (pageable) memory, both touched before, beside what bounds it: the
/// signal's upload and the output's download from and to pinned memory, and copying the signal into it and the output out of it.
void add_host_times(nlohmann::ordered_json& json, const Plan& plan, const CudaDevice& device, const CaseData& data, double seconds);

}  // namespace tapline::cli
