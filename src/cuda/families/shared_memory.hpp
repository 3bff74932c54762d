// How much shared memory a block may have. production.cu.
#pragma once

#include <cstddef>

#include "cuda/abi.hpp"

namespace tapline::cuda {

/// Loads a kernel; if it needs more shared memory than every kernel may have, allows it all that there is.
void allow_shared(const void* kernel, std::size_t bytes);
/// Shared memory that a block may use.
inline std::size_t shared_limit(const cuda_abi::Device& device) {
    return static_cast<std::size_t>(device.shared_bytes_per_block);
}

}  // namespace tapline::cuda
