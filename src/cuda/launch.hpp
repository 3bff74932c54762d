// Launches of kernels by their own types.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "cuda/check.hpp"

namespace tapline::cuda {

/// kernel<<<grid, block, shared_bytes, stream>>>(arguments...), checked. Arguments are converted to the kernel's own types.
template <class... Parameters, class... Given>
void launch_kernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                   Given&&... arguments) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    check(cudaLaunchKernelEx(&config, kernel, std::forward<Given>(arguments)...), "launch");
}

/// Loads a kernel and returns what the driver says of it.
template <class... Parameters>
cudaFuncAttributes load_kernel(void (*kernel)(Parameters...)) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
    return attributes;
}

}  // namespace tapline::cuda
