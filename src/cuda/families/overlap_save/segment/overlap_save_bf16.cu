// The overlap-save kernels for bf16.
#include "cuda/families/overlap_save/segment/overlap_save_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel kernel_bf16(int warps, bool plain, Spectrum spectrum) { return pick<__nv_bfloat16>(warps, plain, spectrum); }

}  // namespace tapline::cuda::overlap_save
