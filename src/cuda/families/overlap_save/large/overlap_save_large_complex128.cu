// The kernels of large segments for complex128.
#include "cuda/families/overlap_save/large/overlap_save_large_kernels.cuh"

namespace tapline::cuda::overlap_save {

LargeKernel large_kernel_complex128(int bits) { return pick_large<double2>(bits); }

}  // namespace tapline::cuda::overlap_save
