// Sizes of the separable kernel.
#pragma once

namespace tapline::cuda::image_separable_rung {

// 16 rows of 144 elements are 2304 sums down columns: eight a thread, whole strips; and 18 rows of a window at a time.
inline constexpr int kThreads = 288;
inline constexpr int kMostRank = 4;
inline constexpr int kAcross = 9;      // outputs of a thread along a row: odd, so that its lanes' addresses lie in different banks
inline constexpr int kDown = 16;       // outputs of a thread down a column
inline constexpr int kHeldStrips = 2;  // of a thread, where sums of several ranks are held

/// How a block's tile is laid out.
struct Layout {
    int lanes;          // of a warp that share a row: 16 or 32
    int tile_elements;  // whole pixels: lanes / channels * kAcross * channels
    int tile_rows;      // a multiple of kDown
    int pitch;          // of the window, in elements: 16 modulo 32 where two rows share a warp
    int rank;
    int padded_height, padded_width;  // of the factors in the table: columns (rank, padded_height), rows (rank, padded_width)
};

}  // namespace tapline::cuda::image_separable_rung
