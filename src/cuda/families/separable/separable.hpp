// Sizes of the separable kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/primitives/image/image_pass.hpp"

namespace tapline::cuda::image_separable_rung {

inline constexpr int kMostThreads = 384;
inline constexpr int kMostRank = 4;
inline constexpr int kDown = 16;       // outputs of a thread down a column
inline constexpr int kHeldStrips = 2;  // of a thread along rows, where sums of several ranks are held

// Outputs of a thread along a row, with one channel and with several. Eight lanes that are 28 (or 20) floats apart on each of four
// rows read 32 banks, if a row's pitch is odd; 8 * 28 outputs and the halo of 31 taps are the columns of 256 threads.
inline constexpr int kAcrossOne = 28;
inline constexpr int kAcrossMany = 20;

/// How a block's tile is laid out.
struct Layout {
    int lanes;          // that share a line: a row of one channel
    int tile_pixels;    // of a line: lanes times outputs of a thread
    int tile_elements;  // tile_pixels * channels
    int tile_rows;      // a multiple of kDown
    int plane;          // from one channel of a window's row to the next, in floats
    int pitch;          // from row to row: odd
    int rank;
    int padded_height, padded_width;  // of the factors in the table: columns (rank, padded_height), rows (rank, padded_width)
};

// The marching kernel (rank one): a block is kColumns threads and makes so many columns.
inline constexpr int kMostChannels = 4;
inline constexpr int kColumns = 256;
inline constexpr int kSide = 16;     // outputs of a thread along a row and down a column; rows of a step
inline constexpr int kSection = 16;  // rows that the ring is a multiple of, and kSide too
inline constexpr int kRingPitch = kColumns + 4;
inline constexpr std::int64_t kFar = 1 << 30;  // rows

/// Blocks of a multiprocessor, as far as registers go.
constexpr int blocks_of(int channels) { return channels == 1 ? 3 : 2; }

/// How a block marches.
struct March {
    int window_columns;  // elements of a row of the window: kColumns and the halo
    int window_pitch;    // floats, 4 more than a multiple of 8: vectors of eight lanes on eight rows lie in 32 banks
    int ring_rows;       // rows held between the passes: kSide and the halo at least
    int segment_rows;    // output rows of a block
    float column[kPassTaps], row[kPassTaps];
};

// The marching kernel on tensor cores (rank one, one channel): a warp makes 16 pixels of a row, 16 rows a step, both passes in
// TF32. Its products take eight taps at a time: a row's outputs lie in 16 columns of a product, a column's in 8.
inline constexpr int kStepRows = 16;
inline constexpr int kLeastRowSteps = 4;
inline constexpr int kMostRowSteps = 6;
constexpr int row_steps_of(int taps) { return (taps + 15 + 7) / 8; }
constexpr int column_steps_of(int taps) { return (taps + 7 + 7) / 8; }
inline constexpr int kTapLead = 20;     // zeros before the taps
inline constexpr int kPaddedTaps = 80;  // with those and zeros after them

inline constexpr int kTensorWarps = 4;
inline constexpr int kTensorPixels = 16 * kTensorWarps;  // of a row
inline constexpr int kTensorStages = 3;                  // steps' rows that are held or on their way
inline constexpr int kTensorBlocks = 4;                  // of a multiprocessor

/// Pixels of a row of the window, and from row to row: four rows' pairs of four lanes lie in 32 banks.
__host__ __device__ constexpr int tensor_window(int row_steps) { return kTensorPixels - 16 + 8 * row_steps; }
__host__ __device__ constexpr int tensor_pitch(int row_steps) { return (tensor_window(row_steps) + 7) / 16 * 16 + 8; }
/// Bytes of shared memory: windows, the taps as fragments, the taps, where the border comes from.
constexpr int tensor_bytes(int row_steps) {
    const int windows = kTensorStages * kStepRows * tensor_pitch(row_steps);
    return (windows + (3 * row_steps - 1) * 128 + 4 * kPaddedTaps + tensor_window(row_steps)) * static_cast<int>(sizeof(float));
}

/// How a block marches on tensor cores.
struct TensorMarch {
    int segment_rows;  // output rows of a block
    int lead;          // pixels that a window begins before the first tap's, to begin on 16 bytes
    int vectors;       // whether it does, in every row
    float column[kPassTaps], row[kPassTaps];
};

}  // namespace tapline::cuda::image_separable_rung
