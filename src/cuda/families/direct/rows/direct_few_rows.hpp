// Rung 17's ways for many rows of f32 whose tiles would be empty for the most part, or begin otherwise in each row.
#pragma once

#include "cuda/families/direct/direct_few.hpp"

namespace tapline::cuda::few {

inline constexpr int kRowThreads = 128;  // of a block

/// Vectors of outputs that a thread makes with so many vectors of taps: with many it reads that much more than it makes.
constexpr int row_vectors(int chunks) { return chunks <= 3 ? 1 : 2; }
inline constexpr int kInterleavedVectors = 5;  // the same of interleaved rows
inline constexpr int kInterleavedThreads = 64;

/// `tiles` of the arguments: threads of a row.
using RowsKernel = void (*)(Arguments a, TapsByValue<float> taps);

enum class Way {
    none,         // tiles of a row
    rows,         // that all begin on 16 bytes
    line,         // one after the other, that begin anywhere, with as many outputs as samples
    interleaved,  // three or four, sample by sample
};
Way way_of(const Problem& p);
double seconds_of(Way way, const Problem& p, const cuda_abi::Device& device);
/// The kernel of a way but `none`, for the problem's taps.
RowsKernel kernel_of(Way way, const Problem& p);
/// Launches a job that goes that way; false: it lies otherwise.
bool launch(Way way, RowsKernel kernel, const Arguments& a, const TapsByValue<float>& taps, cudaStream_t stream);

/// For so many vectors of taps, up to kFewTaps of them. row_taps: each row has its own.
RowsKernel rows_kernel(int chunks, bool row_taps);
RowsKernel line_kernel(int chunks);
/// Of three or four channels.
RowsKernel interleaved_kernel(int channels, int chunks);

}  // namespace tapline::cuda::few
