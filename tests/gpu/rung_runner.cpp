#include "gpu/rung_runner.hpp"

#include <algorithm>

namespace tapline::test {

std::vector<int> all_rungs() {
    std::vector<int> rungs;
    for (int i = 0; i < api().rung_count(); ++i) { rungs.push_back(i); }
    return rungs;
}

std::string rung_name(int rung) { return api().rung(rung).name; }

cuda_abi::Problem ladder_problem(const Problem& problem) {
    cuda_abi::Problem p = core::to_abi(core::resolve(problem), {});
    p.ladder = 1;
    return p;
}

std::string refusal(int rung, const Problem& problem) {
    const cuda_abi::Problem p = ladder_problem(problem);
    cuda_abi::Status status;
    if (api().supports(rung, 0, &p, &status)) { return {}; }
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

std::vector<cuda_abi::Policy> policies_of(int rung, const Problem& problem) {
    const cuda_abi::Problem p = ladder_problem(problem);
    std::vector<cuda_abi::Policy> all(64);
    all.resize(
        std::min(all.size(), static_cast<std::size_t>(api().policies(rung, 0, &p, all.data(), static_cast<int>(all.size())))));
    return all;
}

std::vector<float> correlation_order(const Problem& problem, std::vector<float> taps) {
    if (problem.operation == Operation::convolution) { std::reverse(taps.begin(), taps.end()); }
    return taps;
}

PreparedRung prepare_rung(int rung, const Problem& problem, const std::vector<float>& taps, const cuda_abi::Policy& policy,
                          cuda_abi::Status& status) {
    const cuda_abi::Problem p = ladder_problem(problem);
    const std::vector<float> ordered = correlation_order(problem, taps);
    return PreparedRung(api().prepare(rung, 0, &p, ordered.data(), &policy, &status));
}

cuda_abi::Job whole_job(const Problem& problem, void* out, const void* in) {
    const core::Resolved r = core::resolve(problem);
    cuda_abi::Job job;
    job.out = out;
    job.count = r.output_length;
    job.out_row = r.out_row;
    job.out_sample = r.out_sample;
    job.in = in;
    job.in_last = r.n;
    job.in_row = r.in_row;
    job.in_sample = r.in_sample;
    job.rows = r.batch;
    job.n = r.n;
    return job;
}

RungRun run_rung(int rung, const Problem& problem, const std::vector<float>& in, const std::vector<float>& taps,
                 const cuda_abi::Policy& policy) {
    RungRun run;
    cuda_abi::Status status;
    const PreparedRung prepared = prepare_rung(rung, problem, taps, policy, status);
    if (!prepared) { return {{}, std::string("prepare: ") + status.message}; }
    const DeviceBuffer device_in = DeviceBuffer::of(in);
    const DeviceBuffer device_out(static_cast<std::size_t>(output_extent(problem)) * sizeof(float));
    const DeviceBuffer workspace(static_cast<std::size_t>(api().workspace_bytes(prepared.get())));
    const cuda_abi::Job job = whole_job(problem, device_out.data(), device_in.data());
    const DeviceStream stream;
    if (!api().execute(prepared.get(), &job, workspace.data(), static_cast<std::int64_t>(workspace.size()), stream.abi(),
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
