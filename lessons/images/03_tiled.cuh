// 03: a block is a tile of the input; fewer of its threads have an output.
#pragma once

#include "lessons/images/01_basic.cuh"

namespace tapline::cuda::image_tiled {

inline constexpr RungInfo kInfo{
    .number = "03",
    .name = "image_tiled",
    .origin = "E7",
    .idea =
        "A block loads a tile of 32 x 32 pixels to shared memory, a pixel a thread and one channel at a time; its output tile is "
        "smaller by the mask's size minus one, and the threads outside it wait.",
    .changed = "Pixels come from shared memory, without a bounds test in the sum; the mask from global memory again.",
    .requirements = "Mask sides of at most 17, so that the output tile has at least 16 x 16 pixels.",
    .limited_by =
        "A load of the tile and one of the mask for each product, two barriers a channel, and threads that only load: 12% of them "
        "with a 3 x 3 mask, 68% with 15 x 15.",
    .source = "lessons/images/03_tiled.cuh",
    .rank = 2,
};

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

class Tiled final : public ImageLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override {
        if (p.y.k <= kMostSide && p.x.k <= kMostSide) { return {}; }
        return "its tile of 32 x 32 leaves too few outputs: mask sides of at most 17";
    }
    void load_kernels() const override { load_kernel(&kernel); }
    void launch_image(const Image& s, cudaStream_t stream) const override {
        const int out_width = kTile - s.mask_width + 1;
        const int out_height = kTile - s.mask_height + 1;
        const dim3 grid(static_cast<unsigned>((s.width + out_width - 1) / out_width),
                        static_cast<unsigned>((s.height + out_height - 1) / out_height));
        launch_kernel(&kernel, grid, dim3(kTile, kTile), 0, stream, s);
    }
};

inline const Rung& rung() {
    static const Tiled instance;
    return instance;
}

}  // namespace tapline::cuda::image_tiled
