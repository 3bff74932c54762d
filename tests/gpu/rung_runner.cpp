#include "gpu/rung_runner.hpp"

#include <algorithm>

#include "gpu_host/problem.hpp"

namespace tapline::test {

cuda_abi::Problem ladder_problem(const Problem& problem) { return gpu_host::to_abi(core::resolve(problem), {}); }

std::string refusal(const Rung& rung, const Problem& problem) {
    const cuda_abi::Problem p = ladder_problem(problem);
    cuda_abi::Status status;
    if (rung.library->supports(rung.index, 0, &p, &status)) { return {}; }
    return *status.message != 0 ? status.message : "(no reason given)";
}

Problem correlation_of(std::int64_t n, std::int64_t k, Mode mode) {
    Problem p;
    p.length = n;
    p.taps = k;
    p.mode = mode;
    p.operation = Operation::correlation;
    return p;
}

std::vector<cuda_abi::Policy> policies_of(const Rung& rung, const Problem& problem) {
    const cuda_abi::Problem p = ladder_problem(problem);
    std::vector<cuda_abi::Policy> all(64);
    const std::int32_t count = rung.library->policies(rung.index, 0, &p, all.data(), static_cast<std::int32_t>(all.size()));
    all.resize(std::min(all.size(), static_cast<std::size_t>(count)));
    return all;
}

std::vector<float> correlation_order(const Problem& problem, std::vector<float> taps) {
    if (problem.operation == Operation::convolution) { std::reverse(taps.begin(), taps.end()); }
    return taps;
}

PreparedRung prepare_rung(const Rung& rung, const Problem& problem, const std::vector<float>& taps, const cuda_abi::Policy& policy,
                          cuda_abi::Status& status) {
    const cuda_abi::Problem p = ladder_problem(problem);
    const std::vector<float> ordered = correlation_order(problem, taps);
    const cuda_abi::HostTaps all{ordered.data()};
    return PreparedRung(rung.library->prepare(rung.index, 0, &p, &all, &policy, &status), {rung.library});
}

cuda_abi::Job whole_job(const Problem& problem, void* out, const void* in) {
    const core::Resolved r = core::resolve(problem);
    cuda_abi::Job job;
    job.out = out;
    job.count = r.cut().outputs;
    job.out_batch = r.batch.out_stride;
    job.out_stride = r.cut().out_stride;
    job.in = in;
    job.in_last = r.cut().n;
    job.in_batch = r.batch.in_stride;
    job.in_stride = r.cut().in_stride;
    job.batch = r.batch.length;
    job.n = r.cut().n;
    return job;
}

RungRun run_rung(const Rung& rung, const Problem& problem, const std::vector<float>& in, const std::vector<float>& taps,
                 const cuda_abi::Policy& policy) {
    RungRun run;
    cuda_abi::Status status;
    const PreparedRung prepared = prepare_rung(rung, problem, taps, policy, status);
    if (!prepared) { return {{}, std::string("prepare: ") + status.message}; }
    const DeviceBuffer device_in = DeviceBuffer::of(in);
    const DeviceBuffer device_out(static_cast<std::size_t>(output_extent(problem)) * sizeof(float));
    const DeviceBuffer workspace(static_cast<std::size_t>(rung.library->workspace_bytes(prepared.get())));
    const cuda_abi::Job job = whole_job(problem, device_out.data(), device_in.data());
    const DeviceStream stream;
    if (!rung.library->execute(prepared.get(), &job, workspace.data(), static_cast<std::int64_t>(workspace.size()), stream.abi(),
                               &status)) {
        return {{}, std::string("execute: ") + status.message};
    }
    stream.synchronize();
    run.out = device_out.values<float>();
    if (!device_in.guards_intact()) { run.failure = "wrote outside the input"; }
    if (!device_out.guards_intact()) { run.failure = "wrote outside the output"; }
    if (!workspace.guards_intact()) { run.failure = "wrote outside the workspace"; }
    return run;
}

}  // namespace tapline::test
