// How many blocks a launch takes where rows are the grid's y and z.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "cuda/check.hpp"

namespace tapline::cuda {

inline constexpr std::int64_t kMostBlocks = 0x7fffffff;
inline constexpr std::int64_t kMostRowsAlongY = 65535;

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

[[noreturn]] inline void refuse_launch() {
    throw CudaError(cuda_abi::Code::unsupported, "problem: more rows or tiles than one launch has blocks; divide the batch");
}

/// Blocks for one row along x, rows along y and z: kernels return at once for the rows that y * z has too many.
inline dim3 grid_of_rows(std::int64_t blocks, std::int64_t rows) {
    const std::int64_t y = std::min(rows, kMostRowsAlongY);
    const std::int64_t z = divide_up(rows, y);
    if (blocks > kMostBlocks || z > kMostRowsAlongY) { refuse_launch(); }
    return {static_cast<unsigned>(blocks), static_cast<unsigned>(y), static_cast<unsigned>(z)};
}

}  // namespace tapline::cuda
