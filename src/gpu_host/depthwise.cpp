#include "tapline/depthwise.hpp"

#include <algorithm>

#include "gpu_host/depthwise_plans.hpp"
#include "gpu_host/library.hpp"

namespace tapline {
namespace {

using gpu_host::call;
using gpu_host::DepthwiseRole;
using gpu_host::DepthwiseWays;

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

void check_workspace(std::size_t given, std::size_t needed) {
    if (given >= needed) { return; }
    throw Error(ErrorCode::argument, "workspace: " + std::to_string(given) + " bytes; the problem needs " + std::to_string(needed));
}

// Sizes and types that no way takes are refused by the engine's own functions.
bool may_have_plans(const DepthwiseProblem& p) {
    const bool real = p.dtype == Dtype::f32 || p.dtype == Dtype::f64 || p.dtype == Dtype::f16 || p.dtype == Dtype::bf16;
    return real && std::min({p.batch, p.channels, p.length, p.outputs, p.taps}) >= 1;
}

std::shared_ptr<const DepthwiseWays> ways_of(const DepthwiseProblem& p, DepthwiseRole role, int device) {
    static const auto kDirect = std::make_shared<const DepthwiseWays>();
    return may_have_plans(p) ? gpu_host::depthwise_ways(p, role, device) : kDirect;
}

std::size_t direct_workspace_bytes(const DepthwiseProblem& problem, int device) {
    const cuda_abi::Depthwise abi = to_abi(problem);
    cuda_abi::Status status;
    const std::int64_t bytes = api_of(device).depthwise_workspace_bytes(device, &abi, &status);
    if (bytes < 0) { gpu_host::throw_status(status); }
    return static_cast<std::size_t>(bytes);
}

}  // namespace

void depthwise_correlate(const DepthwiseProblem& problem, void* y, const void* x, const void* taps, int device, void* stream) {
    const cuda_abi::Depthwise abi = to_abi(problem);
    call(api_of(device).depthwise_forward, device, &abi, y, x, taps, native(stream));
}

std::size_t depthwise_correlate_workspace_bytes(const DepthwiseProblem& problem, int device) {
    const auto ways = ways_of(problem, DepthwiseRole::forward, device);
    return ways->forward == nullptr ? 0 : ways->forward->workspace_bytes();
}

void depthwise_correlate(const DepthwiseProblem& problem, void* y, const void* x, const void* taps, void* workspace,
                         std::size_t workspace_bytes, int device, void* stream) {
    const auto ways = ways_of(problem, DepthwiseRole::forward, device);
    if (ways->forward == nullptr) { return depthwise_correlate(problem, y, x, taps, device, stream); }
    check_workspace(workspace_bytes, ways->forward->workspace_bytes());
    ways->forward->execute(y, x, {.data = taps, .dtype = problem.dtype}, {static_cast<std::byte*>(workspace), workspace_bytes},
                           stream);
}

std::size_t depthwise_workspace_bytes(const DepthwiseProblem& problem, int device) {
    const auto ways = ways_of(problem, DepthwiseRole::gradients, device);
    std::size_t bytes = ways->of_x != nullptr && ways->of_taps != nullptr ? 0 : direct_workspace_bytes(problem, device);
    if (ways->of_x != nullptr) { bytes = std::max(bytes, ways->of_x->workspace_bytes()); }
    if (ways->of_taps != nullptr) { bytes = std::max(bytes, ways->of_taps->workspace_bytes()); }
    return bytes;
}

void depthwise_gradients(const DepthwiseProblem& problem, void* grad_x, void* grad_taps, const void* grad_y, const void* x,
                         const void* taps, void* workspace, std::size_t workspace_bytes, int device, void* stream) {
    const auto ways = ways_of(problem, DepthwiseRole::gradients, device);
    const std::span<std::byte> scratch{static_cast<std::byte*>(workspace), workspace_bytes};
    const bool x_by_plan = grad_x != nullptr && ways->of_x != nullptr;
    if (x_by_plan || (grad_x == nullptr && ways->of_taps != nullptr)) {
        check_workspace(workspace_bytes, depthwise_workspace_bytes(problem, device));
    }
    if (x_by_plan) {
        ways->of_x->execute(grad_x, grad_y, {.data = taps, .reversed = true, .dtype = problem.dtype}, scratch, stream);
        grad_x = nullptr;
    }
    if (grad_x == nullptr && ways->of_taps != nullptr) { return ways->of_taps->execute(grad_taps, grad_y, x, scratch, stream); }
    const cuda_abi::Depthwise abi = to_abi(problem);
    call(api_of(device).depthwise_backward, device, &abi, grad_x, grad_taps, grad_y, x, grad_x == nullptr ? nullptr : taps,
         workspace, static_cast<std::int64_t>(workspace_bytes), native(stream));
}

}  // namespace tapline
