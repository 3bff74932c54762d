// The kernels of rows side by side with filters of their own: depthwise convolution, channels last.
#include "cuda/families/common/with_types.hpp"
#include "cuda/families/direct/rows/direct_across.cuh"

namespace tapline::cuda::across {

Kernel own_kernel_of(Dtype dtype, Dtype taps_dtype, bool wide) {
    return with_types(dtype, taps_dtype, [&]<class X, class H>(ElementType<X>, ElementType<H>) -> Kernel {
        if constexpr (sizeof(X) >= 4 && sizeof(X) < 16) {
            return wide ? &direct_across_kernel<X, H, true, true> : &direct_across_kernel<X, H, false, true>;
        }
        return nullptr;
    });
}

}  // namespace tapline::cuda::across
