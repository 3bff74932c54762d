// Rung 17's kernels for many short rows of f32.
#pragma once

#include "cuda/families/direct/direct_few.hpp"

namespace tapline::cuda::few {

inline constexpr int kRowThreads = 128;  // of a block
inline constexpr int kMostRowTaps = 20;  // a thread reads as many samples

using RowsKernel = void (*)(Arguments a, TapsByValue<float> taps, int vectors_of_row);

/// For so many vectors of taps, up to kMostRowTaps of them: of rows that all begin on 16 bytes, with taps of their own or one
/// filter's; and of rows one after the other that begin anywhere, with as many outputs as samples.
RowsKernel rows_kernel(int chunks, bool row_taps);
RowsKernel line_kernel(int chunks);

}  // namespace tapline::cuda::few
