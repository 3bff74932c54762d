// How much shared memory there is, and what fits a multiprocessor.
#pragma once

#include "cuda/launch.hpp"

namespace tapline::cuda {

/// Shared memory that a block may use.
inline std::size_t shared_limit(const cuda_abi::Device& device) { return static_cast<std::size_t>(device.shared_bytes_per_block); }

/// Blocks of a loaded kernel that a multiprocessor holds, one at least.
template <class... Parameters>
int blocks_held(void (*kernel)(Parameters...), int threads, std::size_t shared_bytes) {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes), "occupancy");
    return blocks < 1 ? 1 : blocks;
}

}  // namespace tapline::cuda
