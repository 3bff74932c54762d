// The kernels of large segments for f64.
#include "cuda/families/overlap_save/large/overlap_save_large_kernels.cuh"

namespace tapline::cuda::overlap_save {

LargeKernel large_kernel_f64(int bits) { return pick_large<double>(bits); }

}  // namespace tapline::cuda::overlap_save
