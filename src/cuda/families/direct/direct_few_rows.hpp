// Rung 17's ways for many rows of f32 whose tiles would be empty for the most part, or begin otherwise in each row.
#pragma once

#include <variant>

#include "cuda/families/direct/direct_few.hpp"

namespace tapline::cuda::few {

inline constexpr int kRowThreads = 128;  // of a block

/// Vectors of outputs that a thread makes with so many vectors of taps: with many it reads that much more than it makes.
constexpr int row_vectors(int chunks) { return chunks <= 3 ? 1 : 2; }
inline constexpr int kInterleavedVectors = 5;  // the same of interleaved rows
inline constexpr int kInterleavedThreads = 64;
inline constexpr std::size_t kInterleavedBytes = 16 * kInterleavedThreads * kInterleavedVectors;  // of shared memory

/// `tiles` of the arguments: threads of a row.
template <class H>
using KernelOfRows = void (*)(Arguments a, TapsByValue<H> taps);
using RowsKernel = KernelOfRows<float>;

enum class Way {
    none,         // tiles of a row
    rows,         // that all begin on 16 bytes
    line,         // one after the other, that begin anywhere, with as many outputs as samples
    interleaved,  // three or four, sample by sample
    own_of_two,   // two, each with its own filter
    own_of_four,
};
Way way_of(const Problem& p);
double seconds_of(Way way, const Problem& p, const cuda_abi::Device& device);
using AnyRowsKernel = std::variant<RowsKernel, KernelOfRows<float2>, KernelOfRows<float4>>;
/// The kernel of a way but `none`, for the problem's taps.
AnyRowsKernel kernel_of(Way way, const Problem& p);
/// Launches a job that goes that way; false: it lies otherwise. `taps`: TapsByValue of the kernel's type.
bool launch(Way way, const AnyRowsKernel& kernel, const Arguments& a, const void* taps, cudaStream_t stream);
/// Taps of `filters` rows, one row after the other, as TapsByValue of rows that have their own.
TapsByValue<float4> own_taps(const float* taps, std::int64_t filters, std::int64_t k);

/// For so many vectors of taps, up to kFewTaps of them. row_taps: each row has its own.
RowsKernel rows_kernel(int chunks, bool row_taps);
RowsKernel line_kernel(int chunks);
/// Of three or four channels.
RowsKernel interleaved_kernel(int channels, int chunks);
/// Of two or four with filters of their own.
KernelOfRows<float2> own_pairs_kernel(int chunks);
KernelOfRows<float4> own_fours_kernel(int chunks);

}  // namespace tapline::cuda::few
