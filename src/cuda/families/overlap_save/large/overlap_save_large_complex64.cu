// The kernels of large segments for complex64.
#include "cuda/families/overlap_save/large/overlap_save_large_kernels.cuh"

namespace tapline::cuda::overlap_save {

LargeKernel large_kernel_complex64(int bits) { return pick_large<float2>(bits); }

}  // namespace tapline::cuda::overlap_save
