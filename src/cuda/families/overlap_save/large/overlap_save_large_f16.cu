// The kernels of large segments for f16.
#include "cuda/families/overlap_save/large/overlap_save_large_kernels.cuh"

namespace tapline::cuda::overlap_save {

LargeKernel large_kernel_f16(int bits) { return pick_large<__half>(bits); }

}  // namespace tapline::cuda::overlap_save
