// The kernels for lines of any type that halves hold.
#include "cuda/families/tensor/lines/tensor_lines.cuh"

namespace tapline::cuda::tensor_lines {

Kernel kernel_of(Dtype dtype) {
    switch (stored_bytes(dtype)) {
        case 1:
            return &tensor_lines_kernel<std::uint8_t>;
        case 2:
            return &tensor_lines_kernel<std::uint16_t>;
        case 4:
            return dtype == kF32 ? &tensor_lines_kernel<float> : nullptr;
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda::tensor_lines
