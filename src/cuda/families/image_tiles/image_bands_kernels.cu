// The kernels of rung 10 for bands.
#include "cuda/families/image_tiles/image_bands.cuh"

namespace tapline::cuda::image_tiles_rung {

BandKernel band_kernel_of(std::int64_t taps, Dtype sums) {
    if (sums != kF32) { return nullptr; }
    return taps <= kFewTaps ? &image_bands_kernel<4, float> : &image_bands_kernel<3, float>;
}

}  // namespace tapline::cuda::image_tiles_rung
