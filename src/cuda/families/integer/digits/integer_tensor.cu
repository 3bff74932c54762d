#include "cuda/families/integer/digits/integer_tensor.cuh"

namespace tapline::cuda::integer {

TensorKernel tensor_kernel(const Digits& d) {
    return with_digits<111, 122, 212, 222, 223, 414, 424, 425>(
        d, [&]<int kSamples, int kTaps, int kSums>() -> TensorKernel { return &tensor_digits_kernel<kSamples, kTaps, kSums>; });
}

}  // namespace tapline::cuda::integer
