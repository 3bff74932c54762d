// The overlap-save kernels for bf16.
#include "cuda/ladder/conv1d/overlap_save_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel kernel_bf16(int warps, bool plain, bool shared_spectrum) { return pick<__nv_bfloat16>(warps, plain, shared_spectrum); }

}  // namespace tapline::cuda::overlap_save
