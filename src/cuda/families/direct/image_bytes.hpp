// Small masks on pixels of a byte: sizes, and the kernels as pointers.
#pragma once

#include "cuda/primitives/image/image_arguments.hpp"

namespace tapline::cuda::image_bytes_rung {

inline constexpr int kThreads = 256;
inline constexpr int kMostMask = 5;  // rows and columns

/// Outputs of a thread along a row, for masks of up to so many rows and columns: sums and pixels fit in 128 registers.
__host__ __device__ constexpr int outputs_of_thread(int mask) { return mask <= 3 ? 16 : 8; }

/// Taps by value, in rows of the kernel's mask, which may be larger than the problem's.
struct Mask {
    float taps[kMostMask * kMostMask];
};

/// How an image is divided: a thread makes `rows` rows of a strip. Neighbouring threads have neighbouring strips, then the next
/// ones below, then the next image: rows shorter than a warp is wide leave no lane without work.
struct Strips {
    std::int64_t across, down, all;
    int rows;
};

using Kernel = void (*)(ImageArguments, Mask, Strips);

/// The kernel for a mask and channels that lie side by side, and the side of its own mask; null: none.
struct Chosen {
    Kernel kernel = nullptr;
    int mask = 0;
};
Chosen kernel_of(std::int64_t mask_height, std::int64_t mask_width, std::int64_t channels);

}  // namespace tapline::cuda::image_bytes_rung
