// Sizes of the tensor-core kernel for images.
#pragma once

#include "cuda/rung.hpp"

namespace tapline::cuda::image_tensor_rung {

inline constexpr int kThreads = 256;
inline constexpr int kWarpsX = 2;                        // of 64 columns each
inline constexpr int kWarpsY = kThreads / 32 / kWarpsX;  // of 16 rows each
inline constexpr int kTileColumns = 64 * kWarpsX;
inline constexpr int kTileRows = 16 * kWarpsY;
inline constexpr int kLeastSteps = 2;  // groups of 16 columns that the taps of a row fall into, wherever an output begins
inline constexpr int kMostSteps = 5;
inline constexpr int kLead = 16;  // zeros before the taps of a row

__host__ __device__ constexpr int steps_of(int mask_width) {
    const int steps = (mask_width + 14) / 16 + 1;
    return steps < kLeastSteps ? kLeastSteps : steps;
}
inline constexpr int kMostWidth = 16 * (kMostSteps - 1) + 1;

/// Columns of a window as halves, a multiple of 16.
__host__ __device__ constexpr int columns_of(int steps) { return kTileColumns - 64 + 16 * (steps + 3); }
/// Bytes from one row to the next: floats with up to three columns before them, then two rows of halves in their place. An odd
/// multiple of 16, so that the rows of a fragment lie in different banks.
__host__ __device__ constexpr int pitch_of(int steps) { return 4 * columns_of(steps) + 16; }
/// Entries of a table of taps: 8 bytes for each pair of neighbours and the one eight taps on.
__host__ __device__ constexpr int entries_of(int steps) { return 8 * steps + 4; }

struct Scales {
    int tap_exponent;  // of the largest tap
    int plain_pairs;   // outputs lie in pairs of 8 bytes
};

}  // namespace tapline::cuda::image_tensor_rung

namespace tapline::cuda {

const Rung& image_tensor();

}  // namespace tapline::cuda
