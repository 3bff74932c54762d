// 02: the mask in constant memory.
#pragma once

#include "lessons/images/01_basic.cuh"

namespace tapline::cuda::image_constant_memory {

inline constexpr RungInfo kInfo{
    .number = "02",
    .name = "image_constant_memory",
    .origin = "E6",
    .idea = "Every thread reads the same tap at the same time: constant memory gives it to a whole warp at once.",
    .changed = "The mask is a global __constant__ array, copied there before each launch.",
    .requirements = "At most 16384 taps; one plan at a time, since the array is one.",
    .limited_by = "One load of the image and a bounds test for each product.",
    .source = "lessons/images/02_constant_memory.cuh",
    .rank = 2,
};

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

class ConstantMemory final : public ImageLesson {
public:
    [[nodiscard]] RungInfo info() const override { return kInfo; }

protected:
    [[nodiscard]] Refusal requires_more(const Problem& p) const override {
        const std::int64_t taps = p.y.k * p.x.k;
        return taps > kMaxTaps ? "constant memory holds 16384 taps, not " + std::to_string(taps) : "";
    }
    void load_kernels() const override { load_kernel(&kernel); }
    void launch_image(const Image& s, cudaStream_t stream) const override {
        const std::size_t bytes = static_cast<std::size_t>(s.mask_height) * static_cast<std::size_t>(s.mask_width) * sizeof(float);
        check(cudaMemcpyToSymbolAsync(mask, s.mask, bytes, 0, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyToSymbolAsync");
        launch_kernel(&kernel, image_basic::grid_of(s), dim3(kSide, kSide), 0, stream, s);
    }
};

inline const Rung& rung() {
    static const ConstantMemory instance;
    return instance;
}

}  // namespace tapline::cuda::image_constant_memory
