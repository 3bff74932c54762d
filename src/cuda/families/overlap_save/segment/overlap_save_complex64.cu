// The overlap-save kernels for complex64.
#include "cuda/families/overlap_save/segment/overlap_save_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel kernel_complex64(int warps, bool plain, Spectrum spectrum) { return pick<float2>(warps, plain, spectrum); }

}  // namespace tapline::cuda::overlap_save
