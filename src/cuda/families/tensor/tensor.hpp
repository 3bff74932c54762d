// Rung 21, direct summation on tensor cores: what its kernels and their launches share.
#pragma once

#include <cstddef>

#include "cuda/primitives/arguments.hpp"
#include "cuda/primitives/tile_sizes.hpp"

namespace tapline::cuda::tensor {

inline constexpr int kWarpsHeld = 16;  // by a multiprocessor where one does, a block by itself

/// How rows are divided into tiles and tiles among warps, or among blocks or warpgroups where four warps make a tile.
struct Tiles {
    std::int64_t tiles;                    // of a row
    std::int64_t first_output;             // of tile 0, from the job's first one; tiles begin at multiples of their size
    std::int64_t start;                    // from sample in_first to the first one of tile 0
    std::int64_t inner_first, inner_last;  // the tiles of every row whose samples lie inside the piece
    int run;                               // tiles of a warp or block, one after the other
    std::int64_t spacing, step_rows;  // where a warp makes a tile: from one's first tile to the next one's; from one of its tiles
    int step_tiles;                   // to its next, so many rows and tiles
    int before;                       // samples that a tile reads too early, so that it begins with a whole vector
    int needed, end;                  // samples that are copied for a tile, whole vectors, and where those end that it needs
    // Only where a warp makes a tile:
    int needed_halves;  // samples of its matrix
    int steps;          // groups of 16 taps
    int tap_entries;
    int samples_bytes, halves_bytes, warp_bytes;  // of shared memory
};

using TileKernel = void (*)(Arguments a, Tiles tiles);
/// `taken`: a number in memory by which blocks take tiles, or null.
using RowsKernel = void (*)(Arguments a, Tiles tiles, unsigned* taken);

/// A warp a tile, for f32, f16 and bf16.
TileKernel kernel_of(Dtype dtype);
/// The same for samples of f32 whose neighbours lie so many elements away: backwards (-1) or every second one (2); null of others.
TileKernel apart_kernel_of(std::int64_t step);
/// Four warps a tile, for f16 and bf16 and so many groups of 16 taps at least; null if there is none in this library or of that
/// size.
TileKernel group_kernel_of(Dtype dtype, int steps);
/// Samples in registers, for f16 and bf16, so many chunks of 32 samples at least and pieces of a tap (1 or 2; 1 if taps are of
/// dtype); null if there is none in this library or of that size.
struct Rows {
    RowsKernel kernel = nullptr;
    int threads = 0;
    std::size_t shared_bytes = 0;
};
Rows rows_kernel_of(Dtype dtype, int chunks, int pieces, bool narrow_taps);

}  // namespace tapline::cuda::tensor

namespace tapline::cuda {

const Rung& tensor_direct();

}  // namespace tapline::cuda
