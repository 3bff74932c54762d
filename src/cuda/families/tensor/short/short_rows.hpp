// Rung 47, rows of up to 128 samples as one matrix: what its kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/primitives/arguments.hpp"
#include "cuda/primitives/tile_sizes.hpp"

namespace tapline::cuda::short_rows {

using tensor::kChunk;  // samples or outputs, two steps of a product

inline constexpr int kMostChunks = 4;  // of a row
inline constexpr int kTileRows = 64;   // that a warpgroup multiplies at a time
/// Bytes of T for 32 samples and as many outputs, of high or low halves.
inline constexpr int kPieceBytes = 2 * kChunk * kChunk;
/// In front of T: the warps' largest entries, where copies arrive, a number for each output.
inline constexpr int kBarriersAt = 128;
inline constexpr int kFirstsAt = 256;
inline constexpr int kHeaderBytes = kFirstsAt + 4 * kMostChunks * kChunk;
inline constexpr int kBuffers = 2;  // of a warpgroup

/// Warpgroups of a block at most, of which a multiprocessor has one: a thread has so many registers that sums and halves fit.
__host__ __device__ constexpr int groups(int chunks) { return chunks <= 1 ? 5 : 3; }
__host__ __device__ constexpr int threads(int chunks) { return groups(chunks) * tensor::kThreads; }
__host__ __device__ constexpr int entries_bytes(int chunks) { return kHeaderBytes + 2 * chunks * chunks * kPieceBytes; }

/// Rows of any steps: channels of recordings, times first, complex samples (of two rows each), every second sample, backwards,
/// gaps. Numbers of elements are those of floats. A tile has some recordings, or some channels of one; in a buffer it lies as in
/// memory, or, of some channels, without what is between them.
struct Apart {
    std::int64_t recordings, channels;
    std::int64_t channel_tiles;     // of a recording
    std::int64_t whole_recordings;  // those that come in bulk: nothing is read behind the last one's samples
    int tile_recordings, tile_channels;
    std::int64_t in_recording, out_recording, in_channel, out_channel, in_sample, out_sample;
    std::int64_t in_front;  // of samples that lie backwards: elements from the last one to the first
};

/// Where rows lie. Samples [first_sample, first_sample + samples) of the piece are read.
struct Shape {
    int first_sample, samples, outputs;
    int in_vectors, out_vectors;  // all rows' begin at 16 bytes and are whole vectors
    int buffer_bytes;             // of a tile, where it comes and goes in bulk; else 0
    std::int64_t tiles;
    Apart apart;
};

using Kernel = void (*)(Arguments a, Shape g);

/// For rows of so many chunks, one after the other or `apart`; null if the library was built for no device that has such products.
Kernel kernel_of(int chunks, bool apart);

}  // namespace tapline::cuda::short_rows

namespace tapline::cuda {

const Rung& short_rows_rung();

}  // namespace tapline::cuda
