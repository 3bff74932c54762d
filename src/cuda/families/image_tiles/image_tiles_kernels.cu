// The kernels of rung 10.
#include "cuda/families/image_tiles/image_tiles.cuh"

namespace tapline::cuda::image_tiles_rung {

Kernel kernel_of(std::int64_t taps, bool integers) {
    if (integers) { return taps <= kFewTaps ? &image_tiles_kernel<4, std::int32_t> : &image_tiles_kernel<3, std::int32_t>; }
    return taps <= kFewTaps ? &image_tiles_kernel<4, float> : &image_tiles_kernel<3, float>;
}

}  // namespace tapline::cuda::image_tiles_rung
