// The overlap-save kernels for f64.
#include "cuda/families/overlap_save/segment/overlap_save_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel kernel_f64(int warps, bool plain, Spectrum spectrum) { return pick<double>(warps, plain, spectrum); }

}  // namespace tapline::cuda::overlap_save
