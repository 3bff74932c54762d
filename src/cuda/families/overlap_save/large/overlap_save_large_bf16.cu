// The kernels of large segments for bf16.
#include "cuda/families/overlap_save/large/overlap_save_large_kernels.cuh"

namespace tapline::cuda::overlap_save {

LargeKernel large_kernel_bf16(int bits) { return pick_large<__nv_bfloat16>(bits); }

}  // namespace tapline::cuda::overlap_save
