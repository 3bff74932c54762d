// The few-taps kernels for f16 and bf16.
#include "cuda/families/direct/direct_few_kernels.cuh"

namespace tapline::cuda::few {

FewKernel kernel_16bit(Dtype dtype, int vectors, int chunks, bool row_taps) {
    return dtype == kF16 ? pick<__half>(vectors, chunks, row_taps) : pick<__nv_bfloat16>(vectors, chunks, row_taps);
}
ShortKernel short_kernel_16bit(Dtype dtype, int chunks) {
    constexpr auto kAll = kAllChunks<__half>;
    return dtype == kF16 ? pick_short<__half>(chunks, kAll) : pick_short<__nv_bfloat16>(chunks, kAll);
}

}  // namespace tapline::cuda::few
