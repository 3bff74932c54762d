// The overlap-save kernels for f16.
#include "cuda/families/overlap_save/segment/overlap_save_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel kernel_f16(int warps, bool plain, Spectrum spectrum) { return pick<__half>(warps, plain, spectrum); }

}  // namespace tapline::cuda::overlap_save
