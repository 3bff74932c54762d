// Sizes of the FFT kernel for images.
#pragma once

namespace tapline::cuda::image_fft_rung {

inline constexpr int kThreads = 1024;
inline constexpr int kSide = 128;  // of a tile
inline constexpr int kOuter = 16;  // 128 = 16 * 8: a transform is two passes
inline constexpr int kInner = 8;
inline constexpr int kPitch = kSide + 1;  // lanes go down columns or along rows: no bank conflicts either way
inline constexpr int kMostMask = 97;      // then a quarter of a side is outputs
/// Elements (float2): the tile, then the roots of unity.
inline constexpr int kSharedElements = kSide * kPitch + kSide;

struct Tiles {
    int out_rows, out_columns;  // of a tile
};

}  // namespace tapline::cuda::image_fft_rung
