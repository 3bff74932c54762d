// The production kernels of direct summation, as the table of rungs sees them.
#pragma once

#include "cuda/rung.hpp"

namespace tapline::cuda {

const Rung& direct_few();
const Rung& direct_window();
const Rung& direct();
const Rung& split_taps();
const Rung& tensor_direct();

/// Taps that the few-taps kernels do, and the slots that they have for them: whole vectors of any type.
inline constexpr int kFewTaps = 36;
inline constexpr int kFewTapSlots = 40;

/// Taps that the window kernels take by value, of a type: 2 KiB.
template <class H>
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr int
    window_tap_slots() {
    return 2048 / static_cast<int>(sizeof(H));
}
/// Vectors of f32 taps for which there are unrolled window kernels.
inline constexpr int kLeastUnrolled = 7;
inline constexpr int kMostUnrolled = 33;
namespace window {
inline constexpr int kThreads = 128;  // of a block
/// How rows are divided into windows and windows among warps.
struct Windows {
    int windows;                  // of a row
    int tiles, slots, buffers;    // tiles of a window; taps, rounded up; windows that a warp holds at a time
    int inner_first, inner_last;  // the windows of every row that lie inside the piece and whose outputs are all wanted
    std::int64_t start;           // from sample in_first to the first one of window 0
    int shift;                    // outputs that window 0 begins early; as start, of inner windows
    int step_windows;             // from one of a warp's windows to its next: so many rows and windows
    std::int64_t step_rows;
};
}  // namespace window
namespace few {
/// What the kernel for signals that do not fill the device is told.
struct ShortRows {
    void* out;
    const void* in;
    std::int64_t out_row, in_row;
    int length;  // samples of a row
    int count;   // outputs of a row
    int offset;  // from sample 0 to the one that the first tap of output 0 meets
    int k;
};
}  // namespace few
namespace tensor {
inline constexpr int kThreads = 128;   // of a block where four warps make a tile
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
}  // namespace tensor
namespace staged {
inline constexpr int kThreads = 128;
}

/// A kernel of one shape, or null if there is none. Types are tapline::Dtype numbers of the signal and the taps.
const void* few_kernel_f32(int vectors, int chunks, bool row_taps);
const void* few_kernel_16bit(Dtype dtype, int vectors, int chunks, bool row_taps);
const void* short_kernel_f32(int chunks);
const void* short_kernel_16bit(Dtype dtype, int chunks);
const void* window_kernel_of(Dtype dtype, Dtype taps_dtype, int vectors, bool row_taps);
/// For f32 and one filter, if there is one for so many taps; `vectors` is set to what a thread then makes.
const void* window_kernel_unrolled(int taps, int* vectors);
/// For f32, f16 and bf16.
const void* tensor_kernel_of(Dtype dtype);
/// For f16 and bf16 and so many groups of 16 taps at least; null if there is none in this library or of that size.
const void* tensor_group_kernel_of(Dtype dtype, int steps);
/// The kernel that keeps samples in registers, for f16 and bf16, so many chunks of 32 samples at least and pieces of a tap (1 or 2;
/// 1 if taps are of dtype); its entry is null if there is none in this library or of that size.
struct TensorRowsKernel {
    const void* entry = nullptr;
    int threads = 0;
    std::size_t shared_bytes = 0;
};
TensorRowsKernel tensor_rows_kernel_of(Dtype dtype, int chunks, int pieces, bool narrow_taps);
const void* direct_kernel_of(Dtype dtype, Dtype taps_dtype, int vectors);
/// The stretches that the kernels above leave.
const void* edge_kernel_of(Dtype dtype, Dtype taps_dtype);
/// Adds up the segments' sums with the epilogue: partial[(y * rows + row) * count + o].
const void* sum_segments_kernel_of(Dtype dtype);

}  // namespace tapline::cuda
