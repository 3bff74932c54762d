// The kernels of rows side by side for sums of integers.
#include "cuda/families/direct/rows/direct_across.cuh"

namespace tapline::cuda::across {

Kernel integer_kernel_of(Dtype dtype, bool wide) {
    const auto either = [&]<class X>(X /*sum*/) -> Kernel {
        return wide ? &direct_across_kernel<X, X, true, false> : &direct_across_kernel<X, X, false, false>;
    };
    switch (dtype) {
        case kI32:
            return either(std::int32_t{});
        case kI64:
            return either(std::int64_t{});
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda::across
