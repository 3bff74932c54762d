#include "cli/bench/bench_json.hpp"

#include "tapline/info.hpp"

namespace tapline::cli {

using Json = nlohmann::ordered_json;

void add_timing(Json& json, const Timing& t, const std::string& suffix) {
    json["seconds_median" + suffix] = t.median;
    json["seconds_min" + suffix] = t.least;
    json["seconds_max" + suffix] = t.most;
    json["runs" + suffix] = t.runs;
}

void add_copy(Json& json, double copy_seconds, double median, const std::string& suffix) {
    json["copy_seconds" + suffix] = copy_seconds;
    json["copy_fraction" + suffix] = copy_seconds / median;
}

void add_times(Json& json, const CaseTimes& times) {
    add_timing(json, times.convolution);
    add_copy(json, times.copy_seconds, times.convolution.median);
    json["streaming_copy_seconds"] = times.streaming_copy_seconds;
    json["instruction_set"] = cpu_target();
}

void add_times(Json& json, const CudaTimes& times, const cuda_abi::Device& facts, const std::string& detail) {
    add_timing(json, times.cold);
    add_copy(json, times.copy_cold.median, times.cold.median);
    json["streaming_copy_seconds"] = nullptr;
    add_timing(json, times.warm, "_warm");
    add_copy(json, times.copy_warm.median, times.warm.median, "_warm");
    json["instruction_set"] = "sm_" + std::to_string(facts.major) + std::to_string(facts.minor);
    json["device_name"] = facts.name;
    json["driver"] = facts.driver_version;
    json["detail"] = detail;
}

}  // namespace tapline::cli
