// Rung 11: what its kernels and its launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::volume_rung {

inline constexpr int kThreads = 128;
inline constexpr int kThreadsAcross = 16;
inline constexpr int kStages = 4;      // planes of the window that are held or on their way
inline constexpr int kBlocksHeld = 3;  // of a multiprocessor, as their registers allow
inline constexpr int kMostSide = 7;    // taps along each axis
inline constexpr int kFewTaps = 3;     // a side that leaves registers for twice the rows of outputs
inline constexpr int kUngrouped = 64;  // taps that are summed one after the other
// Products of a thread's outputs of a plane that are one piece of code (H100, 384 x 384 x 384, f32: 5 taps a side 420 us, 467 by
// rows; 7 a side 1,250 us, 1,130 by rows).
inline constexpr int kUnrolled = 2000;
inline constexpr int kAhead = 2;  // planes that samples of another type than sums are loaded ahead

/// Masks are filled up with zeros to cubes of 3, 5 or 7 taps a side.
constexpr int side_of(std::int64_t largest) { return largest <= 3 ? 3 : largest <= 5 ? 5 : kMostSide; }

/// Sizes of a block's work for samples of so many bytes.
struct Cut {
    int across;     // outputs of a thread along a row: a vector
    int down;       // and down a column
    int tile_x;     // outputs of a block's plane
    int tile_y;     //
    int columns;    // of the window
    int rows;       //
    int pitch;      // elements from row to row
    int of_thread;  // elements of a plane that a thread loads
};
__host__ __device__ constexpr Cut cut_of(int side, int bytes) {
    Cut c{};
    c.across = 16 / bytes;
    c.down = side <= kFewTaps ? 4 : 2;
    c.tile_x = kThreadsAcross * c.across;
    c.tile_y = kThreads / kThreadsAcross * c.down;
    c.columns = c.tile_x + side - 1;
    c.rows = c.tile_y + side - 1;
    c.pitch = (c.columns + c.across - 1) / c.across * c.across;
    c.of_thread = (c.pitch * c.rows + kThreads - 1) / kThreads;
    return c;
}
/// Of shared memory.
__host__ __device__ constexpr std::size_t bytes_of(int side, int bytes) {
    const Cut c = cut_of(side, bytes);
    return static_cast<std::size_t>(kStages) * static_cast<std::size_t>(c.rows * c.pitch * bytes);
}

/// A filtered axis, in elements.
struct Side {
    std::int64_t n, origin, in_stride, out_stride;
    std::int64_t in_first, in_last;  // the samples that are there
    std::int64_t first, outputs;     // of the job
    Boundary boundary;
    int taps;
};

/// X: of sums and taps.
template <class X>
struct VolumeArguments {
    void* out;       // output (first, 0, 0) of the first volume
    const void* in;  // sample (in_first, 0, 0) of the first volume
    Side z, y, x;
    std::int64_t volumes, channels;  // volume v is channel v % channels of item v / channels
    std::int64_t in_item, out_item, in_channel, out_channel;
    std::int64_t tiles_x, tiles_y, segments, segment_planes;
    X absent;                    // what stands where there is no sample
    std::int32_t is_filled_up;   // taps were added: they must not meet what is not finite
    std::int32_t store_vectors;  // a thread's outputs of a row are a vector of memory
    Dtype input_type;
    std::int32_t input_bytes, output_bytes;
    Arguments common;  // epilogue and output type; nothing else is set
    X taps[kMostSide * kMostSide * kMostSide];
};

template <class X>
using Kernel = void (*)(VolumeArguments<X>);
/// `widens`: samples and outputs of any real types up to 4 and 8 bytes, else both are X.
template <class X>
Kernel<X> kernel_of(int side, bool widens);

}  // namespace tapline::cuda::volume_rung

namespace tapline::cuda {

const Rung& volume_direct();

}  // namespace tapline::cuda
