#include "gpu_host/executable.hpp"

#include <array>

#include "core/plan/repeated.hpp"
#include "gpu_host/memory.hpp"
#include "gpu_host/pipeline.hpp"
#include "gpu_host/problem.hpp"

namespace tapline::gpu_host {

using core::Input;
using core::Output;

CudaExecutable::CudaExecutable(const cuda_abi::Api& api, const cuda_abi::Device& device, const cuda_abi::RungInfo& info,
                               PreparedHandle prepared, const core::Resolved& problem, const core::Request& request, bool in_pairs)
    : api_(api),
      device_(device),
      takes_pieces_(info.takes_pieces != 0),
      prepared_(std::move(prepared)),
      granularity_(api.granularity(prepared_.get())),
      workspace_bytes_(api.workspace_bytes(prepared_.get())),
      problem_(problem),
      host_buffers_(request.host_buffers),
      in_pairs_(in_pairs),
      threads_(request.threads) {}

Output CudaExecutable::own(const Output& output) const {
    if (!in_pairs_) { return output; }
    Output own = core::whole_output(problem_, output.data);
    own.first = output.first;
    own.count = output.count;
    return own;
}

Input CudaExecutable::own(const Input& input) const {
    if (!in_pairs_) { return input; }
    Input own = input;
    const core::Piece whole = core::whole_input(problem_, input.main.data).main;
    own.main.batch_stride = whole.batch_stride;
    own.main.stride = whole.stride;
    return own;
}

core::Resolved CudaExecutable::layout() const { return host_buffers_ ? packed(problem_) : problem_; }

std::string CudaExecutable::describe() const {
    std::array<char, 512> text{};
    api_.describe(prepared_.get(), text.data(), text.size());
    const std::string details = text.data();
    return std::string(device_.name) + (details.empty() ? "" : ", " + details);
}

void CudaExecutable::execute(const Output& output, const Input& input, std::span<std::byte> workspace, void* stream) const {
    const cuda_abi::Job job = job_of(own(output), own(input), problem_.batch.length);
    call(api_.execute, prepared_.get(), &job, workspace.data(), static_cast<std::int64_t>(workspace.size()),
         static_cast<cuda_abi::Stream*>(stream));
}

void CudaExecutable::execute_with_taps(const Output& output, const Input& input, const core::GivenTaps& taps,
                                       std::span<std::byte> workspace, void* stream) const {
    const cuda_abi::Job job = job_of(own(output), own(input), problem_.batch.length);
    const cuda_abi::DeviceTaps on_device{taps.data, taps.reversed ? 1 : 0, taps.conjugated ? 1 : 0, taps.dtype};
    call(api_.execute_with_taps, prepared_.get(), &job, &on_device, workspace.data(), static_cast<std::int64_t>(workspace.size()),
         static_cast<cuda_abi::Stream*>(stream));
}

void CudaExecutable::execute_alone(const Output& output, const Input& input) const {
    if (workspace_bytes_ == 0) { return execute(output, input, {}, nullptr); }
    const DeviceBytes workspace = allocate_device(api_, device_.index, workspace_bytes_);
    execute(output, input, {static_cast<std::byte*>(workspace.get()), workspace_bytes()}, nullptr);
    call(api_.synchronize_stream, device_.index, nullptr);
}

void CudaExecutable::execute_host(const Output& output, const Input& input, std::span<std::byte> /*workspace*/) const {
    for (std::int64_t index = 0; index < problem_.outer_length(); ++index) {
        const core::OuterElement element = core::outer_element(problem_, own(output), own(input), index);
        execute_host_share(element.output, element.input, {.threads = threads_, .set = element.set});
    }
}

void CudaExecutable::execute_host_share(const Output& output, const Input& input, const HostShare& share) const {
    const core::Resolved one = core::without_outer(problem_);
    run_pipeline({.api = &api_,
                  .device = device_.index,
                  .prepared = prepared_.get(),
                  .problem = &one,
                  .takes_pieces = takes_pieces_,
                  .granularity = granularity_,
                  .workspace_bytes = workspace_bytes_,
                  .threads = share.threads,
                  .first_item = share.first_item,
                  .items = share.items,
                  .set = share.set,
                  .stop = share.stop},
                 output, input);
}

cuda_abi::Job job_of(const Output& output, const Input& input, std::int64_t batch) {
    if (input.extra.first < input.extra.last) {
        throw Error(ErrorCode::unsupported, "in: a GPU reads one piece of device memory; use execute_host");
    }
    return {.out = output.data,
            .first = output.first,
            .count = output.count,
            .out_batch = output.batch_stride,
            .out_stride = output.stride,
            .in = input.main.data,
            .in_first = input.main.first,
            .in_last = input.main.last,
            .in_batch = input.main.batch_stride,
            .in_stride = input.main.stride,
            .batch_first = 0,
            .batch = batch,
            .n = input.n,
            .packed = 0};
}

cuda_abi::Job whole_job(const core::Resolved& problem, void* out, const void* in) {
    return job_of(whole_output(problem, out), whole_input(problem, in), problem.batch.length);
}

const CudaExecutable& executable_of(const Plan& plan) {
    const core::PlanState& state = plan.state();
    if (const auto* executable = dynamic_cast<const CudaExecutable*>(state.executable.get())) { return *executable; }
    if (state.executable->takes_host_memory()) { throw Error(ErrorCode::device, "device: the plan is not one of a GPU"); }
    throw Error(ErrorCode::unsupported, "batch_axes: the plan repeats its algorithm over " +
                                            std::to_string(state.resolved.outer_length()) + " elements of outer axes");
}

}  // namespace tapline::gpu_host
