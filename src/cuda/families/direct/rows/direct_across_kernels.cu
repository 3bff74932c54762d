// The kernels of rows side by side for every type of samples and taps.
#include "cuda/families/common/with_types.hpp"
#include "cuda/families/direct/rows/direct_across.cuh"

namespace tapline::cuda::across {

Kernel kernel_of(Dtype dtype, Dtype taps_dtype, bool wide) {
    if (is_integer(taps_dtype)) { return dtype == taps_dtype ? integer_kernel_of(dtype, wide) : nullptr; }
    return with_types(dtype, taps_dtype, [&]<class X, class H>(ElementType<X>, ElementType<H>) -> Kernel {
        if constexpr (sizeof(X) >= 4) {
            if constexpr (sizeof(X) < 16) {
                if (wide) { return &direct_across_kernel<X, H, true, false>; }
            }
            return &direct_across_kernel<X, H, false, false>;
        }
        return nullptr;
    });
}

}  // namespace tapline::cuda::across
