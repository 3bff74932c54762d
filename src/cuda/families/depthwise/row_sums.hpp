// Sums over rows in a fixed order: what is left to do where gradients of many batches have been made side by side.
#pragma once

#include <cuda_runtime.h>

#include "cuda/abi.hpp"

namespace tapline::cuda {

/// As cuda_abi::Api has it: pointers, types and the stream are checked.
bool sum_rows(std::int32_t device, const cuda_abi::RowSum* sum, cuda_abi::Stream* stream, cuda_abi::Status* status);

}  // namespace tapline::cuda
