#include "tapline/depthwise.hpp"

#include "gpu_host/library.hpp"

namespace tapline {
namespace {

using gpu_host::call;

const cuda_abi::Api& api_of(int device) { return gpu_host::api_for(device, ""); }

cuda_abi::Depthwise to_abi(const DepthwiseProblem& p) {
    return {.batch = p.batch,
            .channels = p.channels,
            .n = p.length,
            .length = p.outputs,
            .k = p.taps,
            .origin = p.origin,
            .dtype = p.dtype};
}

cuda_abi::Stream* native(void* stream) { return static_cast<cuda_abi::Stream*>(stream); }

}  // namespace

void depthwise_correlate(const DepthwiseProblem& problem, void* y, const void* x, const void* taps, int device, void* stream) {
    const cuda_abi::Depthwise abi = to_abi(problem);
    call(api_of(device).depthwise_forward, device, &abi, y, x, taps, native(stream));
}

std::size_t depthwise_workspace_bytes(const DepthwiseProblem& problem, int device) {
    const cuda_abi::Depthwise abi = to_abi(problem);
    cuda_abi::Status status;
    const std::int64_t bytes = api_of(device).depthwise_workspace_bytes(device, &abi, &status);
    if (bytes < 0) { gpu_host::throw_status(status); }
    return static_cast<std::size_t>(bytes);
}

void depthwise_gradients(const DepthwiseProblem& problem, void* grad_x, void* grad_taps, const void* grad_y, const void* x,
                         const void* taps, void* workspace, std::size_t workspace_bytes, int device, void* stream) {
    const cuda_abi::Depthwise abi = to_abi(problem);
    call(api_of(device).depthwise_backward, device, &abi, grad_x, grad_taps, grad_y, x, taps, workspace,
         static_cast<std::int64_t>(workspace_bytes), native(stream));
}

}  // namespace tapline
