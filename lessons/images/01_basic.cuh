// 01: a thread a pixel, and the caches do the rest.
#pragma once

#include "cuda/primitives/epilogue.cuh"
#include "cuda/primitives/zero_boundary.cuh"
#include "lessons/lesson.hpp"

namespace tapline::cuda::image_basic {

inline constexpr RungInfo kInfo{
    .number = "01",
    .name = "image_basic",
    .origin = "E5",
    .idea = "Write it down plainly: a thread a pixel, with loops over its channels and over the mask.",
    .requirements = "Fewer than 2^31 elements an image; at most 65535 blocks of 16 rows.",
    .limited_by =
        "Two loads and a bounds test for each product; with several channels neighbouring threads read addresses that are "
        "`channels` elements apart.",
    .source = "lessons/images/01_basic.cuh",
    .rank = 2,
};

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

inline dim3 grid_of(const Image& s) {
    return {static_cast<unsigned>((s.width + kSide - 1) / kSide), static_cast<unsigned>((s.height + kSide - 1) / kSide)};
}

inline void launch(const Image& s, cudaStream_t stream) { launch_kernel(&kernel, grid_of(s), dim3(kSide, kSide), 0, stream, s); }

class Basic final : public ImageLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    void load_kernels() const override { load_kernel(&kernel); }
    void launch_image(const Image& s, cudaStream_t stream) const override { image_basic::launch(s, stream); }
};

inline const Rung& rung() {
    static const Basic instance;
    return instance;
}

}  // namespace tapline::cuda::image_basic
