#include "core/choice/device_choice.hpp"

#include <optional>

#include "core/choice/several_devices.hpp"

namespace tapline::core {
namespace {

// Loading a driver and making a context take 0.1 to 0.5 s once a process: not worth it for less than this on the CPU.
constexpr double kWorthAnAcceleratorSeconds = 0.1;
// From pageable memory to pageable memory, in plus out: what a few cores copy while the link (55 GB/s each way) is not the limit.
constexpr double kPageableBytesPerSecond = 20e9;
constexpr double kHostCallSeconds = 1e-4;

double transfer_seconds(const Resolved& r) {
    const double in = static_cast<double>(r.samples()) * static_cast<double>(size_of(r.dtype));
    const double out = static_cast<double>(r.outputs()) * static_cast<double>(size_of(r.output_dtype));
    return static_cast<double>(r.outer_length()) * (kHostCallSeconds + (in + out) / kPageableBytesPerSecond);
}

// On the first GPU with host buffers; nothing if there is none or it cannot.
std::optional<DeviceChoice> on_accelerator(const Resolved& problem, Request request, std::string& reason) {
    try {
        request.host_buffers = true;
        const Engine* const engine = first_accelerator(reason);
        if (engine == nullptr) { return std::nullopt; }
        DeviceChoice found{engine, choose(*engine, problem, request, {}), request};
        found.choice.predicted_seconds += transfer_seconds(problem);
        return found;
    } catch (const Error& error) {
        reason = error.what();
        return std::nullopt;
    }
}

std::string there_and_back(const DeviceChoice& gpu) { return format_seconds(gpu.choice.predicted_seconds) + " there and back"; }

}  // namespace

DeviceChoice choose_device(const std::string& device, const Resolved& problem, const Request& request,
                           const std::string& algorithm) {
    if (const auto several = several_devices(device)) { return choose_among(*several, problem, request, algorithm); }
    const Engine& named = engine_for(device);
    const bool may_leave = device == "auto" && algorithm.empty() && problem.x.n != kUnknownLength;
    if (!may_leave) { return {&named, choose(named, problem, request, algorithm), request}; }
    std::optional<Choice> on_cpu;
    std::string refusal;
    try {
        on_cpu = choose(named, problem, request, algorithm);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) { throw; }
        refusal = error.what();
    }
    if (on_cpu && on_cpu->predicted_seconds <= kWorthAnAcceleratorSeconds) { return {&named, *on_cpu, request}; }
    std::string reason;
    std::optional<DeviceChoice> gpu = on_accelerator(problem, request, reason);
    if (!on_cpu) {
        if (!gpu) { throw Error(ErrorCode::unsupported, refusal + "; and no GPU can: " + reason); }
        gpu->choice.reason = "the CPU cannot solve it; " + gpu->choice.reason;
        return *gpu;
    }
    if (!gpu) { return {&named, *on_cpu, request}; }
    const std::string cpu_seconds = format_seconds(on_cpu->predicted_seconds);
    if (gpu->choice.predicted_seconds < on_cpu->predicted_seconds) {
        gpu->choice.reason =
            "host memory to host memory " + there_and_back(*gpu) + " against " + cpu_seconds + " on the CPU; " + gpu->choice.reason;
        return *gpu;
    }
    on_cpu->reason = "the GPU would take " + there_and_back(*gpu) + " against " + cpu_seconds + " here; " + on_cpu->reason;
    return {&named, *on_cpu, request};
}

DeviceChoice fall_back_to_host(const Resolved& problem, const Request& request, const std::string& failure) {
    DeviceChoice host{&host_engine(), choose(host_engine(), problem, request, {}), request};
    host.choice.reason = "the GPU failed (" + failure + "); " + host.choice.reason;
    return host;
}

}  // namespace tapline::core
