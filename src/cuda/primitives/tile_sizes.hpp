// Sizes of the tiles that tensor cores multiply (matrix_fragments.cuh, group_tile.cuh, row_tile.cuh), for host code too.
#pragma once

#include <cuda_runtime.h>

namespace tapline::cuda::tensor {

// A warp's tile.

inline constexpr int kRow = 64;          // outputs of a row of the matrix
inline constexpr int kTile = 16 * kRow;  // outputs of a warp at a time
inline constexpr int kPitch = 144;       // bytes of a row of 64 halves: eight rows' pieces of 16 bytes lie in eight groups of banks
inline constexpr int kLead = 16;         // zeros before the taps
inline constexpr int kTopExponent = 14;  // of scaled samples and taps: 2^15 is within a half's range
inline constexpr int kNotFinite = 1 << 20;
inline constexpr int kMostTaps = 256;
/// Floats of the taps and the zeros around them.
__host__ __device__ constexpr int padded_taps(int steps) { return 16 * steps + 20; }

// A warpgroup's tile whose samples lie in shared memory as halves.

inline constexpr int kThreads = 128;     // of a block where four warps make a tile
inline constexpr int kGroupTile = 4096;  // 128 columns of 32 outputs
inline constexpr int kMostSteps = 18;    // of 16 taps: their fragments and the sums fit 168 registers
/// Blocks of a multiprocessor; with eight steps 128 registers do.
__host__ __device__ constexpr int group_blocks(int steps) { return steps <= 8 ? 4 : 3; }
/// Samples lie in four planes: vector q, 8 samples, is number q / 4 of plane q % 4. 32 bytes past a multiple of 128, so that the
/// vectors of eight neighbouring threads lie in eight groups of banks.
inline constexpr int kPlaneBytes = 17 * 128 + 32;
inline constexpr int kPlanesBytes = 4 * kPlaneBytes;
inline constexpr int kRawBytes = (kGroupTile - 32 + 16 * kMostSteps) * 2;
inline constexpr int kGroupShared = 2 * kPlanesBytes + 2 * kRawBytes + kGroupTile * 2 + (16 * kMostSteps + 32) * 4 + 32;
static_assert(kPlaneBytes / 16 * 4 >= kRawBytes / 16 && kPlaneBytes % 128 == 32 && kPlanesBytes % 128 == 0);

// Rows of a tile whose 16-bit samples stay in registers.

inline constexpr int kChunk = 32;                   // neighbouring samples, two steps of a product
inline constexpr int kMostChunks = 9;               // of taps, and of what their places in a position add
inline constexpr int kMostChunksOnce = 18;          // where taps are one half each
inline constexpr int kChunkTaps = 2 * 16 * kChunk;  // entries of T for a chunk
inline constexpr int kSharedBytes = 227 * 1024;     // of a block, compute capability 9.0
inline constexpr int kMostBuffers = 16;             // whose barriers and numbers of copies come before all else
inline constexpr int kRowHeaderBytes = 16 * kMostBuffers;

/// Positions of 32 outputs, of a row: odd, so that two rows lie in different halves of the banks, and so many that what a row reads
/// ends within the next one or, from 11 chunks on, the one after that. Where memory limits, small tiles begin and end sooner: one
/// product, 127 taps, 2^26 samples 76 us instead of 79; with two they are too much to begin with (2^28 samples 310 instead of 288).
__host__ __device__ constexpr int row_positions(int chunks, int pieces) {
    return chunks <= 5 && pieces == 1 ? 5 : chunks <= 8 ? 7 : 9;
}
__host__ __device__ constexpr int row_outputs(int chunks, int pieces) { return row_positions(chunks, pieces) * kChunk; }
__host__ __device__ constexpr int rows_tile(int chunks, int pieces) { return 64 * row_outputs(chunks, pieces); }
/// Rows after its own that the last position of a row reads of.
__host__ __device__ constexpr int row_rows_after(int chunks, int pieces) {
    const int positions = row_positions(chunks, pieces);
    return (positions + chunks - 2) / positions;
}
/// Chunks in registers at a time: what two positions read, and at first all that lies in rows before the last one read, as outputs
/// take the place of a row's samples from its beginning on.
__host__ __device__ constexpr int row_chunks_taken(int chunks, int pieces) {
    const int rows = row_rows_after(chunks, pieces) * row_positions(chunks, pieces);
    return chunks + 1 > rows ? chunks + 1 : rows;
}
/// Warpgroups of a block: as many as have registers for these and two positions' sums.
__host__ __device__ constexpr int row_groups(int chunks) { return chunks <= kMostChunks ? 3 : 2; }
__host__ __device__ constexpr int row_threads(int chunks) { return row_groups(chunks) * kThreads; }
__host__ __device__ constexpr int row_samples_beyond(int chunks) { return kChunk * (chunks - 1); }
__host__ __device__ constexpr int row_samples(int chunks, int pieces) {
    return rows_tile(chunks, pieces) + row_samples_beyond(chunks);
}
/// One half of all taps.
__host__ __device__ constexpr int row_tap_bytes(int chunks) { return kChunkTaps * 2 * chunks; }
/// What all but the last warp of a warpgroup read of the next warp's rows.
__host__ __device__ constexpr int row_beyond_bytes(int chunks) { return row_groups(chunks) * 3 * row_samples_beyond(chunks) * 2; }
__host__ __device__ constexpr int row_fixed_bytes(int chunks, int pieces) {
    return kRowHeaderBytes + pieces * row_tap_bytes(chunks) + row_beyond_bytes(chunks);
}
/// Tiles in shared memory: those that warpgroups work on and those on their way.
__host__ __device__ constexpr int row_buffers(int chunks, int pieces) {
    return (kSharedBytes - row_fixed_bytes(chunks, pieces)) / (2 * row_samples(chunks, pieces));
}
__host__ __device__ constexpr int row_shared_bytes(int chunks, int pieces) {
    return row_fixed_bytes(chunks, pieces) + row_buffers(chunks, pieces) * 2 * row_samples(chunks, pieces);
}

}  // namespace tapline::cuda::tensor
