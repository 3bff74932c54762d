// The kernel of rung 07 whose transforms are in double.
#include "cuda/families/image_fft/image_fft.cuh"

namespace tapline::cuda::image_fft_rung {

void (*kernel_of_doubles())(ImageArguments, Tiles) { return &kernel<8, 1, 0, true, double>; }

}  // namespace tapline::cuda::image_fft_rung
