// Samples of few bits, or apart, by way of rows of the type of sums.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/rung.hpp"

namespace tapline::cuda {

const Rung& widened_rows();

namespace widened_rows_pass {

inline constexpr int kThreads = 256;
inline constexpr int kEach = 8;  // samples of a thread

/// Rows as they lie in memory, and of sums one after the other.
struct Passage {
    const void* from;
    void* to;
    std::int64_t samples, from_sample, from_row, to_row;
    std::int64_t tiles;  // of a row
    Dtype type;
};

using Kernel = void (*)(Passage);
/// From samples of 8 or 16 bits to f32 or f64, or of the type itself; null if there is none.
Kernel kernel_of(Dtype samples, Dtype sums);

}  // namespace widened_rows_pass

}  // namespace tapline::cuda
