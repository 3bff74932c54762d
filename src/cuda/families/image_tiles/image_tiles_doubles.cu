// The kernels of rung 10 whose sums are f64: their windows leave registers for two blocks.
#include "cuda/families/image_tiles/image_tiles.cuh"

namespace tapline::cuda::image_tiles_rung {

Kernel kernel_of_doubles() { return &image_tiles_kernel<2, double>; }

}  // namespace tapline::cuda::image_tiles_rung
