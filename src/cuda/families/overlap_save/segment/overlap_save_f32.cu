// The overlap-save kernels for f32.
#include "cuda/families/overlap_save/segment/overlap_save_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel kernel_f32(int warps, bool plain, Spectrum spectrum) { return pick<float>(warps, plain, spectrum); }

}  // namespace tapline::cuda::overlap_save
