// Rung 31: what its kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda::tiles {

inline constexpr int kWarps = 4;  // of a block, each with tiles of its own

/// Outputs of a thread: an odd number, so that lanes so far apart meet in no bank of shared memory.
template <int kSumBytes>
inline constexpr int kOutputs = kSumBytes == 4   ? 21
                                : kSumBytes == 8 ? 11
                                                 : 5;
inline int outputs_of_thread(int sum_bytes) { return sum_bytes == 4 ? kOutputs<4> : sum_bytes == 8 ? kOutputs<8> : kOutputs<16>; }

/// How a tile lies in memory and shared memory.
enum class Lie : std::int32_t {
    along,   ///< lines are runs of neighbours, forwards or backwards, with gaps or without
    across,  ///< samples of one time are runs of neighbours
    apart,   ///< neither: elements come and go one by one
};

/// How a warp's lanes share its tile: each makes neighbouring outputs of one line.
struct Tiles {
    int pieces;   // lanes of a line
    int outputs;  // of a line
    Lie in, out;
    int in_pitch, out_pitch;    // elements of shared memory from one run to the next; in_pitch 0: all lines are one signal
    int in_front, in_elements;  // before the first run, for what is read of it too far; all of the samples' place
    int sums_at;                // bytes before the samples as sums; 0: they are sums as they come
    int warp_bytes, taps_at;    // of shared memory; taps lie behind all warps'
    int tap_pitch, tap_lines;   // taps from one line's to the next's; lines with taps of their own, or 1
    int warp_taps;              // from one warp's taps to the next's; 0: all have the same
    std::int64_t filter_bytes;  // from one filter to the next
};

using Kernel = void (*)(Arguments a, Rows rows, Tiles tiles);

/// Null if there is none for these types.
Kernel kernel_of(Dtype sum_dtype, Dtype taps_dtype);

}  // namespace tapline::cuda::tiles
