// What the JSON of `tapline bench` says of times, for signals and images alike.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/bench/bench_cuda.hpp"

namespace tapline::cli {

void add_timing(nlohmann::ordered_json& json, const Timing& timing, const std::string& suffix = "");
void add_copy(nlohmann::ordered_json& json, double copy_seconds, double median, const std::string& suffix = "");
/// On a CPU.
void add_times(nlohmann::ordered_json& json, const CaseTimes& times);
/// On a GPU; `detail`: what the plan says of itself.
void add_times(nlohmann::ordered_json& json, const CudaTimes& times, const cuda_abi::Device& facts, const std::string& detail);

}  // namespace tapline::cli
