#include "cuda/families/integer/digits/integer_tensor.cuh"

namespace tapline::cuda::integer {

TensorKernel tensor_kernel(const Digits& d) {
    switch (100 * d.samples + 10 * d.taps + d.sums) {
        case 111:
            return &tensor_digits_kernel<1, 1, 1>;
        case 122:
            return &tensor_digits_kernel<1, 2, 2>;
        case 212:
            return &tensor_digits_kernel<2, 1, 2>;
        case 222:
            return &tensor_digits_kernel<2, 2, 2>;
        case 223:
            return &tensor_digits_kernel<2, 2, 3>;
        case 414:
            return &tensor_digits_kernel<4, 1, 4>;
        case 424:
            return &tensor_digits_kernel<4, 2, 4>;
        case 425:
            return &tensor_digits_kernel<4, 2, 5>;
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda::integer
