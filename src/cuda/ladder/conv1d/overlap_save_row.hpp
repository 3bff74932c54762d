// Rows that one transform of 4,096 points takes as a whole: what the kernel and its launch share.
#pragma once

#include "cuda/ladder/conv1d/overlap_save.hpp"

namespace tapline::cuda::overlap_save {

inline constexpr int kRowWarps = 4;      // of the segments (Segments, Cut) in whose place the kernel works
inline constexpr int kRowPoints = 4096;  // of the transform
inline constexpr int kRowThreads = 64;   // of a row
inline constexpr int kRowsOfBlock =
    4;  // at most: 64 points are 128 registers of 255; 6 rows with 168 registers took 1.5 times as long
inline constexpr int kLeastRowsOfBlock = 2;
inline constexpr int kRowPitch = 66;  // points: 16-byte stores of rows and 8-byte loads of columns are free of bank conflicts
inline constexpr int kRowBuffer = 64 * kRowPitch;
inline constexpr int kRowPairsThere = 32 * 64;  // (c, t) of fft::transform_by<64>, pair i of thread p at (i, p)
inline constexpr int kRowPairsBack = 16 * 64;   // of its first five steps
inline constexpr int kRowTable = kRowPairsThere + kRowPairsBack + 2 * 32 * 64;  // with the last step's (cos, tan) and e^(5i)

// Rows of up to 32,768 samples, by a cluster of two blocks, in place of segments of 32 warps.
inline constexpr int kLongRowWarps = 32;
inline constexpr int kLongRowPoints = 32768;
inline constexpr int kLongRowThreads = 512;  // of a block
/// Of a block: pairs of its division among 16 warps, what turns its points into the outputs' parts, the warps' pairs and twists.
inline constexpr int kLongRowHalfTable = 16 + 2 * 16 + 16 * 16 + 16 * 32 + 16 * 32;

/// Whether rows of the problem are such that a kernel takes them in place of segments of so many warps: no longer than its
/// transform, as many outputs at most, zeros around them, filters of their own that are no longer either.
bool takes_rows(const Problem& p, int warps, const cuda_abi::Device& device);
/// And this job's, of which a stream's are not.
bool takes_job(const Job& job, int warps);

/// The kernel's tables, then the spectra of all filters, appended.
void append_row_tables(std::vector<std::byte>& to, const Prepared& prepared, int warps);
void load_row_kernel(const Prepared& prepared, int warps);
/// `tables`: what append_row_tables() made.
void launch_rows(const Prepared& prepared, const Job& job, int warps, const void* tables, cudaStream_t stream);

}  // namespace tapline::cuda::overlap_save
