// The kernel of rung 10.
#include "cuda/families/image_tiles/image_tiles.cuh"

namespace tapline::cuda::image_tiles_rung {

Kernel kernel() { return &image_tiles_kernel; }

}  // namespace tapline::cuda::image_tiles_rung
