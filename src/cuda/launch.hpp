// Launches of kernels by their own types.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "cuda/check.hpp"

namespace tapline::cuda {

/// A kernel as the runtime's untyped functions take it.
template <class... Parameters>
const void* address_of(void (*kernel)(Parameters...)) {
    return reinterpret_cast<const void*>(kernel);
}

/// Of a launch of clusters; it points to `attribute`.
inline cudaLaunchConfig_t cluster_config(cudaLaunchAttribute& attribute, int blocks, dim3 grid, dim3 block,
                                         std::size_t shared_bytes, cudaStream_t stream) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return config;
}

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

/// The same where `blocks` neighbouring blocks of the grid are a cluster.
template <class... Parameters, class... Given>
void launch_clusters(void (*kernel)(Parameters...), int blocks, dim3 grid, dim3 block, std::size_t shared_bytes,
                     cudaStream_t stream, Given&&... arguments) {
    cudaLaunchAttribute attribute{};
    const cudaLaunchConfig_t config = cluster_config(attribute, blocks, grid, block, shared_bytes, stream);
    check(cudaLaunchKernelEx(&config, kernel, std::forward<Given>(arguments)...), "launch");
}

/// Such clusters that the device holds at a time, one at least.
template <class... Parameters>
int clusters_held(void (*kernel)(Parameters...), int blocks, dim3 block, std::size_t shared_bytes) {
    cudaLaunchAttribute attribute{};
    const cudaLaunchConfig_t config =
        cluster_config(attribute, blocks, static_cast<unsigned>(blocks), block, shared_bytes, nullptr);
    int clusters = 0;
    check(cudaOccupancyMaxActiveClusters(&clusters, address_of(kernel), &config), "clusters");
    return clusters < 1 ? 1 : clusters;
}

/// Loads a kernel and returns what the driver says of it.
template <class... Parameters>
cudaFuncAttributes load_kernel(void (*kernel)(Parameters...)) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, address_of(kernel)), "loading a kernel");
    return attributes;
}

/// The same of a kernel that is launched with `shared_bytes` of dynamic shared memory. If with its own that is more than all may
/// have, it is allowed all that there is: the limit belongs to the kernel, and a plan that needs less must not take from another
/// one what it launches with.
template <class... Parameters>
cudaFuncAttributes load_kernel(void (*kernel)(Parameters...), std::size_t shared_bytes, const cuda_abi::Device& device) {
    constexpr std::size_t kAllowedAnyway = 48 * 1024;
    const cudaFuncAttributes attributes = load_kernel(kernel);
    if (shared_bytes + attributes.sharedSizeBytes > kAllowedAnyway) {
        const int most = device.shared_bytes_per_block - static_cast<int>(attributes.sharedSizeBytes);
        check(cudaFuncSetAttribute(address_of(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, most), "shared memory");
    }
    return attributes;
}

}  // namespace tapline::cuda
