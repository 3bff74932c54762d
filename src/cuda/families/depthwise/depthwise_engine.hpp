// Depthwise correlation as cuda_abi::Api has it: pointers, streams and sizes are checked.
#pragma once

#include <cstdint>

#include "cuda/abi.hpp"

namespace tapline::cuda {

bool depthwise_forward(std::int32_t device, const cuda_abi::Depthwise* problem, void* y, const void* x, const void* taps,
                       cuda_abi::Stream* stream, cuda_abi::Status* status);
std::int64_t depthwise_workspace_bytes(std::int32_t device, const cuda_abi::Depthwise* problem, cuda_abi::Status* status);
bool depthwise_backward(std::int32_t device, const cuda_abi::Depthwise* problem, void* grad_x, void* grad_taps, const void* grad_y,
                        const void* x, const void* taps, void* workspace, std::int64_t workspace_size, cuda_abi::Stream* stream,
                        cuda_abi::Status* status);

}  // namespace tapline::cuda
