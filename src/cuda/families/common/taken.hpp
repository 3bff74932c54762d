// A number in the workspace by which blocks or warps take what is next, so that what all of them read and write at a time lies
// together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/check.hpp"

namespace tapline::cuda {

/// Of the workspace, for that number.
inline constexpr std::int64_t kTakenBytes = 256;

/// The number in that workspace, set to 0 in `stream`.
inline unsigned* start_taking(void* workspace, cudaStream_t stream) {
    auto* const taken = static_cast<unsigned*>(workspace);
    check(cudaMemsetAsync(taken, 0, sizeof *taken, stream), "cudaMemsetAsync");
    return taken;
}

}  // namespace tapline::cuda
