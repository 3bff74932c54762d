#include "core/choice/several_devices.hpp"

#include <algorithm>

namespace tapline::core {
namespace {

// Between pageable and pinned memory, in plus out: 1 GiB there and 1 GiB back take 43 ms with 16 threads (H200). One GPU's pipeline
// with 64 threads takes 33 to 42 ms, two GPUs' with as many in all 27 to 30, four GPUs' 25 to 32 (H100).
constexpr double kHostBytesPerSecondOfAThread = 50e9 / 16;
constexpr double kHostBytesPerSecondOfADevice = 60e9;
constexpr double kHostBytesPerSecond = 80e9;
// 1 GiB from or to pinned memory takes 19.4 ms, both ways at once (H200).
constexpr double kLinkBytesPerSecond = 55e9;
// A further device has to make so much of a difference.
constexpr double kWorthADevice = 0.95;

struct Seconds {
    double host_bytes, threads;
    double link, kernels;  // of one device
    [[nodiscard]] double host(int devices) const {
        return host_bytes /
               std::min({kHostBytesPerSecond, kHostBytesPerSecondOfADevice * devices, kHostBytesPerSecondOfAThread * threads});
    }
    [[nodiscard]] double on(int devices) const { return std::max(host(devices), std::max(link, kernels) / devices); }
};

Seconds seconds_of(const Resolved& r, const Request& request, double kernels) {
    const auto elements = static_cast<double>(r.outer_length());
    const double in = elements * static_cast<double>(r.samples()) * static_cast<double>(size_of(r.dtype));
    const double out = elements * static_cast<double>(r.outputs()) * static_cast<double>(size_of(r.output_dtype));
    return {.host_bytes = in + out,
            .threads = static_cast<double>(request.threads),
            .link = std::max(in, out) / kLinkBytesPerSecond,
            .kernels = kernels};
}

std::string text_of(const Seconds& s, int devices) {
    return "copies in the host's memory take " + format_seconds(s.host(devices)) + ", one GPU's link " + format_seconds(s.link) +
           ", its kernels " + format_seconds(s.kernels);
}

}  // namespace

DeviceChoice choose_among(const SeveralDevices& devices, const Resolved& problem, Request request, const std::string& algorithm) {
    request.host_buffers = true;
    DeviceChoice found{&devices.engine_for(devices.count), {}, request};
    found.choice = choose(*found.engine, problem, request, algorithm);
    const std::string of_all = " of " + std::to_string(devices.count) + " GPUs: ";
    if (problem.x.n == kUnknownLength) {
        found.engine = &devices.engine_for(1);
        found.choice = choose(*found.engine, problem, request, algorithm);
        found.choice.reason = "one" + of_all + "a stream's pieces go through one; " + found.choice.reason;
        return found;
    }
    const Seconds seconds = seconds_of(problem, request, found.choice.predicted_seconds);
    int count = devices.takes_all ? devices.count : 1;
    while (count < devices.count && seconds.on(devices.count) < kWorthADevice * seconds.on(count)) { ++count; }
    const char* const why = devices.takes_all                          ? ": all, as TAPLINE_CUDA_TAKE_ALL asks; "
                            : seconds.host(count) >= seconds.on(count) ? ": the host's memory is the limit; "
                                                                       : ": each takes its share; ";
    if (count < devices.count) {
        found.engine = &devices.engine_for(count);
        found.choice = choose(*found.engine, problem, request, algorithm);
    }
    found.choice.reason =
        (count == 1 ? "one" : std::to_string(count)) + of_all + text_of(seconds, count) + why + found.choice.reason;
    found.choice.predicted_seconds = seconds.on(count);
    return found;
}

}  // namespace tapline::core
