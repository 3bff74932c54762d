#include "cli/bench/bench_cuda.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "cli/shared/copy_speed.hpp"

namespace tapline::cli {
namespace {

const core::CudaExecutable& executable_of(const Plan& plan) {
    const auto* executable = dynamic_cast<const core::CudaExecutable*>(plan.state().executable.get());
    if (executable == nullptr) throw Error(ErrorCode::device, "device: the plan is not one of a GPU");
    return *executable;
}

Timing merged(const std::vector<Timing>& rounds) {
    std::vector<double> medians;
    Timing all = rounds.front();
    all.runs = 0;
    for (const Timing& round : rounds) {
        medians.push_back(round.median);
        all.least = std::min(all.least, round.least);
        all.most = std::max(all.most, round.most);
        all.runs += round.runs;
    }
    std::ranges::sort(medians);
    all.median = medians[medians.size() / 2];
    return all;
}

// Wall-clock times of one thing.
class Clocked {
public:
    template <class Run>
    void measure(Run run) {
        const auto start = std::chrono::steady_clock::now();
        run();
        seconds_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    [[nodiscard]] Timing timing() const {
        auto sorted = seconds_;
        std::ranges::sort(sorted);
        return {sorted[sorted.size() / 2], sorted.front(), sorted.back(), static_cast<int>(sorted.size())};
    }

private:
    std::vector<double> seconds_;
};

}  // namespace

double HostTimes::slowest_seconds() const { return std::max({upload_seconds, download_seconds, copy_seconds}); }

CheckResult check(const Plan& plan, const CudaProblem& on_device, const BenchData& data, const ReferenceBlocks& expected) {
    const CudaMemory workspace(on_device.device(), plan.workspace_bytes());
    on_device.poison();
    plan.execute(on_device.out(), on_device.in(), {static_cast<std::byte*>(workspace.data()), plan.workspace_bytes()});
    on_device.download(data.output.data(), 0, plan.output_length() * plan.problem().batch);
    return expected.compare(plan.state().request.accuracy, data.output.data());
}

CudaTimes time_in_turns(const Measure& run, const Measure& copy, double seconds) {
    // Several rounds, so that a change of clock speed meets convolution and copy alike; each thing takes milliseconds by itself.
    constexpr double kManySeconds = 0.02;
    const int rounds = seconds < kManySeconds ? 1 : 3;
    constexpr int kThings = 4;
    const double each = seconds / (rounds * kThings);
    std::vector<Timing> cold;
    std::vector<Timing> warm;
    std::vector<Timing> copy_cold;
    std::vector<Timing> copy_warm;
    for (int round = 0; round < rounds; ++round) {
        cold.push_back(run(true, each));
        copy_cold.push_back(copy(true, each));
        warm.push_back(run(false, each));
        copy_warm.push_back(copy(false, each));
    }
    return {merged(cold), merged(warm), merged(copy_cold), merged(copy_warm)};
}

CudaTimes time_case(const Plan& plan, const CudaProblem& on_device, double seconds) {
    const cuda_abi::Prepared& prepared = *executable_of(plan).prepared();
    const CudaMemory workspace(on_device.device(), plan.workspace_bytes());
    return time_in_turns([&](bool cold, double each) { return on_device.measure(prepared, workspace, cold, each); },
                         [&](bool cold, double each) { return on_device.measure_copy(cold, each); }, seconds);
}

CheckResult check_host(const Plan& plan, const BenchData& data, const ReferenceBlocks& expected) {
    std::memset(data.output.data(), 0xFF, data.output.size());
    plan.execute_host(data.output.data(), data.signal.data());
    return expected.compare(plan.state().request.accuracy, data.output.data());
}

HostTimes time_host(const Plan& plan, const CudaDevice& device, const BenchData& data, double seconds) {
    constexpr int kLeastRounds = 5;
    constexpr int kMostRounds = 1000;
    const std::size_t in_bytes = data.signal.size();
    const std::size_t out_bytes = data.output.size();
    const CudaMemory pinned(device, std::max(in_bytes, out_bytes), CudaMemory::Place::pinned);
    std::memset(pinned.data(), 0, pinned.size());
    Clocked convolution;
    Clocked upload;
    Clocked download;
    Clocked copies;
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    for (int round = 0; round < kMostRounds && (round < kLeastRounds || elapsed() < seconds); ++round) {
        {
            // Freed before the plan runs, which wants device memory of its own.
            const CudaMemory on_device(device, pinned.size());
            upload.measure([&] { device.copy(on_device.data(), pinned.data(), in_bytes); });
            download.measure([&] { device.copy(pinned.data(), on_device.data(), out_bytes); });
        }
        copies.measure([&] {
            copy(pinned.data(), data.signal.data(), in_bytes, plan.threads());
            copy(data.output.data(), pinned.data(), out_bytes, plan.threads());
        });
        convolution.measure([&] { plan.execute_host(data.output.data(), data.signal.data()); });
    }
    return {.convolution = convolution.timing(),
            .upload_seconds = upload.timing().median,
            .download_seconds = download.timing().median,
            .copy_seconds = copies.timing().median,
            .signal_bytes = in_bytes,
            .output_bytes = out_bytes};
}

}  // namespace tapline::cli
