// How much shared memory a block may have. production.cu.
#pragma once

#include <cstddef>

#include "cuda/abi.hpp"

namespace tapline::cuda {

/// Loads a kernel; if it needs more shared memory than every kernel may have, allows it all that there is.
void allow_shared(const void* kernel, std::size_t bytes);
/// Shared memory that a block may use (CUDA programming guide, table of compute capabilities).
std::size_t shared_limit(const cuda_abi::Device& device);

}  // namespace tapline::cuda
