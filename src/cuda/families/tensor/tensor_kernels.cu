// The kernels of a warp a tile, for every element type that they have.
#include "cuda/families/tensor/tensor.cuh"

namespace tapline::cuda::tensor {

TileKernel kernel_of(Dtype dtype) {
    switch (dtype) {
        case kF32:
            return &tensor_kernel<float>;
        case kF16:
            return &tensor_kernel<__half>;
        case kBf16:
            return &tensor_kernel<__nv_bfloat16>;
        default:
            return nullptr;
    }
}

TileKernel apart_kernel_of(std::int64_t step) {
    return step == -1 ? &tensor_kernel<float, -1> : step == 2 ? &tensor_kernel<float, 2> : nullptr;
}

}  // namespace tapline::cuda::tensor
