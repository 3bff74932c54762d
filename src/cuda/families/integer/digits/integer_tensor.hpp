// Integers as bytes on tensor cores: what the kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/families/integer/digits/integer_digits.hpp"

namespace tapline::cuda::integer {

inline constexpr int kTensorWarps = 4;
inline constexpr int kLineOutputs = 32;  // a row of a product's samples: neighbouring outputs
inline constexpr int kTensorWarpOutputs = 16 * kLineOutputs;
inline constexpr int kTensorOutputs = kTensorWarps * kTensorWarpOutputs;  // of a block
inline constexpr int kTapLead = 16;                                       // words of zeros before a table's taps

/// Products along the taps for a window that begins up to `before` samples early.
__host__ __device__ constexpr int tensor_steps(std::int64_t taps, int before) {
    return static_cast<int>((taps + kLineOutputs - 1 + before + 31) / 32);
}
/// Words of a table, whose four shifts lie in different banks.
constexpr int table_words(int steps) { return (kTapLead + 8 * steps + 23) / 32 * 32 + 8; }

struct Tensor {
    Signal signal;
    TapDigits taps;
    int table_words, plane_bytes;
    int planes_at, stage_at;  // bytes of shared memory
    int tiles_of_block;
    unsigned flip;  // of four bytes of samples: signs that are turned, so that none is negative
};

using TensorKernel = void (*)(Tensor g);
/// Null if there is none.
TensorKernel tensor_kernel(const Digits& digits);

}  // namespace tapline::cuda::integer

namespace tapline::cuda {
const Rung& integer_tensor();
}
