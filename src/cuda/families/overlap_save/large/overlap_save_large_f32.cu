// The kernels of large segments for f32.
#include "cuda/families/overlap_save/large/overlap_save_large_kernels.cuh"

namespace tapline::cuda::overlap_save {

LargeKernel large_kernel_f32(int bits) { return pick_large<float>(bits); }

}  // namespace tapline::cuda::overlap_save
