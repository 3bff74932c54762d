// The few-taps kernels for f32.
#include "cuda/families/direct/direct_few_kernels.cuh"

namespace tapline::cuda::few {

FewKernel kernel_f32(int vectors, int chunks, bool row_taps) { return pick<float>(vectors, chunks, row_taps); }
ShortKernel short_kernel_f32(int chunks) { return pick_short<float>(chunks, kAllChunks<float>); }

}  // namespace tapline::cuda::few
