// 03: a block is a tile of the input; fewer of its threads have an output.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::image_tiled {

inline constexpr Head kHead("03", "image_tiled", "E7", R"(
Idea: A block loads a tile of 32 x 32 pixels to shared memory, a pixel a thread and one channel at a time; its output tile is
    smaller by the mask's size minus one, and the threads outside it wait.
Changed: Pixels come from shared memory, without a bounds test in the sum; the mask from global memory again.
Requires: Mask sides of at most 17, so that the output tile has at least 16 x 16 pixels.
Limited by: A load of the tile and one of the mask for each product, two barriers a channel, and threads that only load: 12% of
    them with a 3 x 3 mask, 68% with 15 x 15.
)");

inline constexpr int kTile = 32;
inline constexpr int kMostSide = 17;

static __global__ void __launch_bounds__(kTile* kTile) kernel(Image s) {
    static __shared__ float tile[kTile][kTile];
    const int tx = static_cast<int>(threadIdx.x);
    const int ty = static_cast<int>(threadIdx.y);
    const int out_width = kTile - s.mask_width + 1;
    const int out_height = kTile - s.mask_height + 1;
    const int x = static_cast<int>(blockIdx.x) * out_width + tx;  // of the output, if this thread has one
    const int y = static_cast<int>(blockIdx.y) * out_height + ty;
    const int row = y - s.origin_y;  // of the pixel that it loads
    const int column = x - s.origin_x;
    const bool loads = inside(row, s.height) && inside(column, s.width);
    const bool stores = tx < out_width && ty < out_height && x < s.width && y < s.height;
    for (int c = 0; c < s.channels; ++c) {
        tile[ty][tx] = loads ? s.in[(row * s.width + column) * s.channels + c] : 0.0f;
        __syncthreads();
        if (stores) {
            float sum = 0;
            for (int i = 0; i < s.mask_height; ++i) {
                for (int j = 0; j < s.mask_width; ++j) { sum += s.mask[i * s.mask_width + j] * tile[ty + i][tx + j]; }
            }
            s.out[(y * s.width + x) * s.channels + c] = clamp_pass_nan(sum, s.low, s.high);
        }
        __syncthreads();
    }
}

inline Blocks blocks_for(const Problem& p) {
    return {.threads = {kTile, kTile},
            .outputs = {static_cast<unsigned>(kTile - p.x.k + 1), static_cast<unsigned>(kTile - p.y.k + 1)}};
}

inline Refusal needs(const Problem& p) {
    if (p.y.k <= kMostSide && p.x.k <= kMostSide) { return {}; }
    return "its tile of 32 x 32 leaves too few outputs: mask sides of at most 17";
}

inline constexpr ImageLesson lesson{
    .head = kHead, .kernel = kernel, .blocks_for = blocks_for, .needs = needs, .clamps = true, .seconds_per_product = 4.5e-13};

}  // namespace tapline::cuda::image_tiled
