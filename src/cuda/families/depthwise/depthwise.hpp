// Depthwise correlation with taps in device memory and both its gradients: what training a sequence model needs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/abi.hpp"

namespace tapline::cuda {

/// Arguments of the backward kernel; shapes as in cuda_abi::Depthwise.
struct DepthwiseGradients {
    void* grad_x = nullptr;
    void* grad_taps = nullptr;
    const void* grad_y = nullptr;
    const void* x = nullptr;
    const void* taps = nullptr;
};

/// Launch only: arguments are checked by the caller. Throw CudaError for what no grid can hold.
void launch_depthwise_forward(const cuda_abi::Depthwise& problem, void* y, const void* x, const void* taps, cudaStream_t stream);
void launch_depthwise_backward(const cuda_abi::Depthwise& problem, int multiprocessors, const DepthwiseGradients& tensors,
                               void* workspace, cudaStream_t stream);

std::int64_t depthwise_backward_workspace_bytes(const cuda_abi::Depthwise& problem, int multiprocessors);

}  // namespace tapline::cuda
