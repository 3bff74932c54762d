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

/// The same of a kernel that is launched with `shared_bytes` of dynamic shared memory. If that is more than every kernel may have,
/// it is allowed all that there is: the limit belongs to the kernel, and a plan that needs less must not take from another one what
/// it launches with.
template <class... Parameters>
cudaFuncAttributes load_kernel(void (*kernel)(Parameters...), std::size_t shared_bytes, const cuda_abi::Device& device) {
    constexpr std::size_t kAllowedAnyway = 48 * 1024;
    const cudaFuncAttributes attributes = load_kernel(kernel);
    if (shared_bytes > kAllowedAnyway) {
        const int most = device.shared_bytes_per_block - static_cast<int>(attributes.sharedSizeBytes);
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most), "shared memory");
    }
    return attributes;
}

}  // namespace tapline::cuda
