// 01: a thread a pixel, and the caches do the rest.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::image_basic {

inline constexpr Head kHead("01", "image_basic", "E5", R"(
Idea: Write it down plainly: a thread a pixel, with loops over its channels and over the mask.
Changed: The first rung.
Requires: Fewer than 2^31 elements an image; at most 65535 blocks of 16 rows.
Limited by: Two loads and a bounds test for each product; with several channels neighbouring threads read addresses that are
    `channels` elements apart.
)");

inline constexpr int kSide = 16;

static __global__ void __launch_bounds__(kSide* kSide) kernel(Image s) {
    const int x = static_cast<int>(blockIdx.x) * kSide + static_cast<int>(threadIdx.x);
    const int y = static_cast<int>(blockIdx.y) * kSide + static_cast<int>(threadIdx.y);
    if (x >= s.width || y >= s.height) { return; }
    for (int c = 0; c < s.channels; ++c) {
        float sum = 0;
        for (int i = 0; i < s.mask_height; ++i) {
            const int row = y + i - s.origin_y;
            for (int j = 0; j < s.mask_width; ++j) {
                const int column = x + j - s.origin_x;
                if (inside(row, s.height) && inside(column, s.width)) {
                    sum += s.mask[i * s.mask_width + j] * s.in[(row * s.width + column) * s.channels + c];
                }
            }
        }
        s.out[(y * s.width + x) * s.channels + c] = clamp_pass_nan(sum, s.low, s.high);
    }
}

inline constexpr ImageLesson lesson{
    .head = kHead, .kernel = kernel, .blocks = {.threads = {kSide, kSide}}, .clamps = true, .seconds_per_product = 4.5e-13};

}  // namespace tapline::cuda::image_basic
