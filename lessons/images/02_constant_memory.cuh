// 02: the mask in constant memory.
#pragma once

#include "lessons/lesson.hpp"

namespace tapline::cuda::image_constant_memory {

inline constexpr Head kHead("02", "image_constant_memory", "E6", R"(
Idea: Every thread reads the same tap at the same time: constant memory gives it to a whole warp at once.
Changed: The mask is a global __constant__ array, copied there before each launch.
Requires: At most 16384 taps; one plan at a time, since the array is one.
Limited by: One load of the image and a bounds test for each product.
)");

inline constexpr int kSide = 16;
inline constexpr int kMaxTaps = 64 * 1024 / 4;

static __constant__ float mask[kMaxTaps];  // (mask_height, mask_width) used

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
                    sum += mask[i * s.mask_width + j] * s.in[(row * s.width + column) * s.channels + c];
                }
            }
        }
        s.out[(y * s.width + x) * s.channels + c] = clamp_pass_nan(sum, s.low, s.high);
    }
}

inline void fill(const Image& s, cudaStream_t stream) {
    const std::size_t bytes = static_cast<std::size_t>(s.mask_height) * static_cast<std::size_t>(s.mask_width) * sizeof(float);
    check(cudaMemcpyToSymbolAsync(mask, s.mask, bytes, 0, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyToSymbolAsync");
}

inline Refusal needs(const Problem& p) {
    return p.taps() > kMaxTaps ? "constant memory holds 16384 taps, not " + std::to_string(p.taps()) : "";
}

inline constexpr ImageLesson lesson{.head = kHead,
                                    .kernel = kernel,
                                    .blocks = {.threads = {kSide, kSide}},
                                    .before = fill,
                                    .needs = needs,
                                    .clamps = true,
                                    .seconds_per_product = 4.5e-13};

}  // namespace tapline::cuda::image_constant_memory
