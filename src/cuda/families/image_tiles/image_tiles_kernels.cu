// The kernels of rung 10 whose sums are f32.
#include "cuda/families/image_tiles/image_tiles.cuh"

namespace tapline::cuda::image_tiles_rung {

Kernel kernel_of(std::int64_t taps, Dtype sums) {
    const bool few = taps <= kFewTaps;
    if (sums == kF64) { return kernel_of_doubles(); }
    if (sums == kI32) { return kernel_of_integers(few); }
    return few ? &image_tiles_kernel<4, float> : &image_tiles_kernel<3, float>;
}

}  // namespace tapline::cuda::image_tiles_rung
