// The edge kernel for every element type.
#include "cuda/families/direct/direct.hpp"
#include "cuda/primitives/edge_kernel.cuh"

namespace tapline::cuda {

const void* edge_kernel_of(Dtype dtype, Dtype taps_dtype) {
    switch (dtype) {
        case kF32:
            return reinterpret_cast<const void*>(&edge_kernel<float, float>);
        case kF64:
            return reinterpret_cast<const void*>(&edge_kernel<double, double>);
        case kComplex64:
            return taps_dtype == kF32 ? reinterpret_cast<const void*>(&edge_kernel<float2, float>)
                                      : reinterpret_cast<const void*>(&edge_kernel<float2, float2>);
        case kComplex128:
            return taps_dtype == kF64 ? reinterpret_cast<const void*>(&edge_kernel<double2, double>)
                                      : reinterpret_cast<const void*>(&edge_kernel<double2, double2>);
        case kF16:
            return reinterpret_cast<const void*>(&edge_kernel<__half, float>);
        case kBf16:
            return reinterpret_cast<const void*>(&edge_kernel<__nv_bfloat16, float>);
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda
