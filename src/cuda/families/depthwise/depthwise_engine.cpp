// The engine's functions for depthwise correlation.
#include "cuda/families/depthwise/depthwise_engine.hpp"

#include <string>

#include "cuda/engine_state.hpp"
#include "cuda/families/depthwise/depthwise.hpp"

namespace tapline::cuda {

using cuda_abi::Code;
using cuda_abi::Status;
using cuda_abi::Stream;

namespace {

void check_depthwise(const cuda_abi::Depthwise& p) {
    if (p.batch < 1 || p.channels < 1 || p.n < 1 || p.length < 1 || p.k < 1) {
        throw CudaError(Code::argument, "depthwise: every size must be at least 1");
    }
    if (p.dtype != Dtype::f32 && p.dtype != Dtype::f64 && p.dtype != Dtype::f16 && p.dtype != Dtype::bf16) {
        throw CudaError(Code::type, "depthwise: elements must be f32, f64, f16 or bf16");
    }
}

}  // namespace

bool depthwise_forward(std::int32_t device, const cuda_abi::Depthwise* problem, void* y, const void* x, const void* taps,
                       Stream* stream, Status* status) {
    return on_device(device, status, [&] {
        check_depthwise(*problem);
        check_pointer("y", y, device);
        check_pointer("x", x, device);
        check_pointer("taps", taps, device);
        check_stream(native(stream), device);
        launch_depthwise_forward(*problem, y, x, taps, native(stream));
        check_launch("depthwise_forward");
    });
}

std::int64_t depthwise_workspace_bytes(std::int32_t device, const cuda_abi::Depthwise* problem, Status* status) {
    return guarded<std::int64_t>(status, -1, [&] {
        check_depthwise(*problem);
        return depthwise_backward_workspace_bytes(*problem, device_of(device).multiprocessors);
    });
}

bool depthwise_backward(std::int32_t device, const cuda_abi::Depthwise* problem, void* grad_x, void* grad_taps, const void* grad_y,
                        const void* x, const void* taps, void* workspace, std::int64_t workspace_size, Stream* stream,
                        Status* status) {
    return on_device(device, status, [&] {
        check_depthwise(*problem);
        const int multiprocessors = device_of(device).multiprocessors;
        const std::int64_t needed = depthwise_backward_workspace_bytes(*problem, multiprocessors);
        if (workspace_size < needed) {
            throw CudaError(Code::argument, "workspace: " + std::to_string(workspace_size) + " bytes; depthwise_backward needs " +
                                                std::to_string(needed));
        }
        if (grad_x != nullptr) {
            check_pointer("grad_x", grad_x, device);
            check_pointer("taps", taps, device);
        }
        check_pointer("grad_taps", grad_taps, device);
        check_pointer("grad_y", grad_y, device);
        check_pointer("x", x, device);
        if (needed > 0) { check_pointer("workspace", workspace, device); }
        check_stream(native(stream), device);
        launch_depthwise_backward(*problem, multiprocessors,
                                  {.grad_x = grad_x, .grad_taps = grad_taps, .grad_y = grad_y, .x = x, .taps = taps}, workspace,
                                  native(stream));
        check_launch("depthwise_backward");
    });
}

}  // namespace tapline::cuda
