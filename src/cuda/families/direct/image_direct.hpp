// Sizes of the direct kernels for images, and the kernels by type, as pointers: each is compiled in one file.
#pragma once

#include <cstdint>

#include "cuda/primitives/image/image_arguments.hpp"

namespace tapline::cuda::image_direct_rung {

inline constexpr int kThreads = 256;
inline constexpr int kWarpsX = 4;                   // warps of a block side by side
inline constexpr int kTileElements = 32 * kWarpsX;  // of a row
inline constexpr int kSmallRows = 16;               // outputs of a thread, one below the other
inline constexpr int kSmallTileRows = kThreads / 32 / kWarpsX * kSmallRows;
inline constexpr int kTapPadding = 16;
inline constexpr int kMostSmall = 7;     // the largest mask side with a kernel of its own
inline constexpr int kSmallPitch = 160;  // of its window, a constant: offsets of rows are part of the loads then

/// Outputs of a thread: sums and window fit in registers with two to four blocks a multiprocessor.
template <class S>
inline constexpr int kRows = sizeof(S) == 16  ? 4
                             : sizeof(S) == 8 ? 8
                                              : 16;

/// Elements from one row of a window to the next, for any lead.
template <class S>
__host__ __device__ constexpr int pitch_of(int elements) {
    constexpr int V = 16 / static_cast<int>(sizeof(S));
    return (elements + 2 * (V - 1)) / V * V;
}

/// Taps by value, K * K of them.
struct SmallMask {
    float taps[kMostSmall * kMostSmall];
};

/// How a mask is divided.
struct Pieces {
    int rows, columns;  // of a piece; rows is a multiple of kTapPadding
    int pitch;          // of its window
    int column_taps;    // from one column of the mask to the next
};

using Kernel = void (*)(ImageArguments, Pieces);
using SmallKernel = void (*)(ImageArguments, SmallMask);
using ExactKernel = void (*)(ImageArguments);

SmallKernel small_kernel_of(int side);  // null: none
Kernel kernel_of(Dtype dtype, Dtype taps_dtype);
ExactKernel exact_kernel_of(Dtype dtype, Dtype taps_dtype);

/// Whether there is a kernel for its pixels that leaves out absent terms.
bool has_exact(const Problem& p);
/// Term by term, any problem: where terms must stay absent. load_exact() returns what launch_exact() launches.
ExactKernel load_exact(const Problem& problem);
void launch_exact(ExactKernel kernel, const Prepared& prepared, const Job& job, const OnDevice& on_device, cudaStream_t stream);

}  // namespace tapline::cuda::image_direct_rung

namespace tapline::cuda {

const Rung& image_direct();

}  // namespace tapline::cuda
