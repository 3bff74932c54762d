// The kernels of rung 10 whose sums are integers of 32 bits.
#include "cuda/families/image_tiles/image_tiles.cuh"

namespace tapline::cuda::image_tiles_rung {

Kernel kernel_of_integers(bool few) { return few ? &image_tiles_kernel<4, std::int32_t> : &image_tiles_kernel<3, std::int32_t>; }

}  // namespace tapline::cuda::image_tiles_rung
