// How much dynamic shared memory a kernel may be launched with.
#pragma once

#include "cuda/launch.hpp"

namespace tapline::cuda {

/// Loads a kernel; if it needs more shared memory than every kernel may have, allows it all that there is: the limit belongs to the
/// kernel, and a smaller plan must not take from a larger one what it launches with.
template <class... Parameters>
void allow_shared(void (*kernel)(Parameters...), std::size_t bytes) {
    const cudaFuncAttributes attributes = load_kernel(kernel);
    if (bytes <= 48 * 1024) { return; }
    int device = 0;
    int most = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               most - static_cast<int>(attributes.sharedSizeBytes)),
          "shared memory");
}

/// Blocks of a loaded kernel that a multiprocessor holds, one at least.
template <class... Parameters>
int blocks_held(void (*kernel)(Parameters...), int threads, std::size_t bytes) {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes), "occupancy");
    return blocks < 1 ? 1 : blocks;
}

}  // namespace tapline::cuda
