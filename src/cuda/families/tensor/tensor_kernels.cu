// The tensor-core kernel for every element type that it has.
#include "cuda/families/tensor/tensor.cuh"

namespace tapline::cuda {

const void* tensor_kernel_of(Dtype dtype) {
    switch (dtype) {
        case kF32:
            return reinterpret_cast<const void*>(&tensor::tensor_kernel<float>);
        case kF16:
            return reinterpret_cast<const void*>(&tensor::tensor_kernel<__half>);
        case kBf16:
            return reinterpret_cast<const void*>(&tensor::tensor_kernel<__nv_bfloat16>);
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda
