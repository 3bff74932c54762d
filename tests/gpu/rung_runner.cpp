#include "gpu/rung_runner.hpp"

#include <algorithm>
#include <cstring>

#include "core/plan/taps_order.hpp"
#include "gpu_host/problem.hpp"

namespace tapline::test {

cuda_abi::Problem ladder_problem(const Problem& problem) { return gpu_host::to_abi(core::resolve(problem), {}); }

namespace {

// As a rung is asked: one that checks its outputs is for strict accuracy alone.
cuda_abi::Problem asked(const Rung& rung, const Problem& problem) {
    cuda_abi::Problem p = ladder_problem(problem);
    if (std::string(rung.info().name) == "strict_sums") { p.accuracy = Accuracy::strict; }
    return p;
}

}  // namespace

std::string refusal(const Rung& rung, const Problem& problem) {
    const cuda_abi::Problem p = asked(rung, problem);
    cuda_abi::Status status;
    if (rung.library->supports(rung.index, 0, &p, &status)) { return {}; }
    return *status.message != 0 ? status.message : "(no reason given)";
}

Problem correlation_of(std::int64_t n, std::int64_t k, Mode mode) {
    return {.length = n, .taps = k, .mode = mode, .operation = Operation::correlation};
}

std::vector<cuda_abi::Policy> policies_of(const Rung& rung, const Problem& problem) {
    const cuda_abi::Problem p = asked(rung, problem);
    std::vector<cuda_abi::Policy> all(64);
    const std::int32_t count = rung.library->policies(rung.index, 0, &p, all.data(), static_cast<std::int32_t>(all.size()));
    all.resize(std::min(all.size(), static_cast<std::size_t>(count)));
    return all;
}

cuda_abi::Job whole_job(const Problem& problem, void* out, const void* in) {
    return gpu_host::whole_job(core::resolve(problem), out, in);
}

RungRunOf<std::byte> run_rung_bytes(const Rung& rung, const Problem& problem, std::span<const std::byte> in, const void* taps,
                                    const cuda_abi::Policy& policy) {
    RungRunOf<std::byte> run;
    cuda_abi::Status status;
    const cuda_abi::Problem p = asked(rung, problem);
    const core::Resolved resolved = core::resolve(problem);
    const core::AlignedBytes ordered = core::joined_sets(resolved, core::ordered_sets(resolved, taps));
    const cuda_abi::HostTaps all{ordered.get()};
    const gpu_host::PreparedHandle prepared(rung.library->prepare(rung.index, 0, &p, &all, &policy, &status), {rung.library});
    if (!prepared) { return {{}, std::string("prepare: ") + status.message}; }
    const DeviceBuffer device_in = DeviceBuffer::of(in);
    const DeviceBuffer device_out(bytes_of(output_extent(problem), output_dtype(problem)));
    const DeviceBuffer workspace(static_cast<std::size_t>(rung.library->workspace_bytes(prepared.get())));
    const cuda_abi::Job job = whole_job(problem, device_out.data(), device_in.data());
    const DeviceStream stream;
    if (!rung.library->execute(prepared.get(), &job, workspace.data(), static_cast<std::int64_t>(workspace.size()), stream.abi(),
                               &status)) {
        return {{}, std::string("execute: ") + status.message};
    }
    stream.synchronize();
    run.out = device_out.values<std::byte>();
    if (!device_in.guards_intact()) { run.failure = "wrote outside the input"; }
    if (!device_out.guards_intact()) { run.failure = "wrote outside the output"; }
    if (!workspace.guards_intact()) { run.failure = "wrote outside the workspace"; }
    return run;
}

RungRun run_rung(const Rung& rung, const Problem& problem, const std::vector<float>& in, const std::vector<float>& taps,
                 const cuda_abi::Policy& policy) {
    const RungRunOf<std::byte> run = run_rung_bytes(rung, problem, std::as_bytes(std::span(in)), taps.data(), policy);
    RungRun result{std::vector<float>(run.out.size() / sizeof(float)), run.failure};
    std::memcpy(result.out.data(), run.out.data(), run.out.size());
    return result;
}

}  // namespace tapline::test
