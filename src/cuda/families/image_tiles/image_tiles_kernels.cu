// The kernels of rung 10.
#include "cuda/families/image_tiles/image_tiles.cuh"

namespace tapline::cuda::image_tiles_rung {

Kernel kernel_of(std::int64_t taps) { return taps <= kFewTaps ? &image_tiles_kernel<4> : &image_tiles_kernel<3>; }

}  // namespace tapline::cuda::image_tiles_rung
