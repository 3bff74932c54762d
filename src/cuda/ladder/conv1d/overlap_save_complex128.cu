// The overlap-save kernels for complex128.
#include "cuda/ladder/conv1d/overlap_save_kernels.cuh"

namespace tapline::cuda::overlap_save {

Kernel kernel_complex128(int warps, bool plain, bool shared_spectrum) { return pick<double2>(warps, plain, shared_spectrum); }

}  // namespace tapline::cuda::overlap_save
