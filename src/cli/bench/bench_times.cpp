#include "cli/bench/bench_times.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "cli/measure/copy_speed.hpp"
#include "cli/measure/problems.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

using Json = nlohmann::ordered_json;

void add_beside_copy(Json& json, const Timing& time, const Timing& copy, const std::string& suffix = "") {
    add_timing(json, time, suffix);
    json["copy_seconds" + suffix] = copy.median;
    json["copy_fraction" + suffix] = copy.median / time.median;
}

}  // namespace

void add_cpu_times(Json& json, const Plan& plan, const CaseData& data, double seconds) {
    const Bytes workspace(plan.workspace_bytes());
    const std::size_t bytes = data.signal.size();
    // Few runs of a slow case still give the copy a median of 15.
    const int copies = plan.predicted_seconds() * 15 > seconds ? 5 : 1;
    const auto times = time_in_turns(
        {{[&] { plan.execute(data.output.data(), data.signal.data(), workspace.span()); }},
         {.run = [&] { copy(data.copied.data(), data.signal.data(), bytes, plan.threads()); }, .a_turn = copies},
         {.run = [&] { streaming_copy(data.copied.data(), data.signal.data(), bytes, plan.threads()); }, .a_turn = copies}},
        {.seconds = seconds});
    add_beside_copy(json, times[0], times[1]);
    json["streaming_copy_seconds"] = times[2].median;
    json["instruction_set"] = cpu_target();
}

void add_gpu_times(Json& json, const CudaProblem& prepared, double seconds) {
    // Several rounds, so that a change of clock speed meets convolution and copy alike; each thing takes milliseconds by itself.
    constexpr double kManySeconds = 0.02;
    const int rounds = seconds < kManySeconds ? 1 : 3;
    const double each = seconds / (rounds * 4);
    std::array<std::vector<Timing>, 4> times;
    for (int round = 0; round < rounds; ++round) {
        times[0].push_back(prepared.measure(true, each));
        times[1].push_back(prepared.measure_copy(true, each));
        times[2].push_back(prepared.measure(false, each));
        times[3].push_back(prepared.measure_copy(false, each));
    }
    const cuda_abi::Device& facts = prepared.device().facts();
    add_beside_copy(json, merged(times[0]), merged(times[1]));
    json["streaming_copy_seconds"] = nullptr;
    add_beside_copy(json, merged(times[2]), merged(times[3]), "_warm");
    json["instruction_set"] = "sm_" + std::to_string(facts.major) + std::to_string(facts.minor);
    json["device_name"] = facts.name;
    json["driver"] = facts.driver_version;
}

void add_host_times(Json& json, const Plan& plan, const CudaDevice& device, const CaseData& data, double seconds) {
    const std::size_t in_bytes = data.signal.size(), out_bytes = data.output.size();
    const CudaMemory pinned(device, std::max(in_bytes, out_bytes), CudaMemory::Kind::pinned);
    std::memset(pinned.data(), 0, pinned.size());
    std::optional<CudaMemory> on_device;  // freed before the plan runs, which wants device memory of its own
    const auto times = time_in_turns(
        {{.run = [&] { device.copy(on_device->data(), pinned.data(), in_bytes); },
          .before = [&] { on_device.emplace(device, pinned.size()); }},
         {.run = [&] { device.copy(pinned.data(), on_device->data(), out_bytes); }, .after = [&] { on_device.reset(); }},
         {[&] {
             copy(pinned.data(), data.signal.data(), in_bytes, plan.threads());
             copy(data.output.data(), pinned.data(), out_bytes, plan.threads());
         }},
         {[&] { plan.execute_host(data.output.data(), data.signal.data()); }}},
        {.seconds = seconds, .least_turns = 5, .most_turns = 1000, .warm_up = false});
    const double upload = times[0].median, download = times[1].median, copies = times[2].median;
    const Timing& convolution = times[3];
    const double slowest = std::max({upload, download, copies});
    const auto in = static_cast<double>(in_bytes), out = static_cast<double>(out_bytes);
    add_timing(json, convolution);
    json["upload_seconds"] = upload;
    json["download_seconds"] = download;
    json["copy_seconds"] = copies;
    json["slowest_seconds"] = slowest;
    json["fraction"] = slowest / convolution.median;
    json["bytes_per_second"] = (in + out) / convolution.median;
    json["upload_bytes_per_second"] = in / upload;
    json["download_bytes_per_second"] = out / download;
    json["copy_bytes_per_second"] = (in + out) / copies;
}

}  // namespace tapline::cli
