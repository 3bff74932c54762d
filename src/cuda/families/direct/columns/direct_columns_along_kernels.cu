// The kernels of few rows side by side, with one filter or one for each of them.
#include "cuda/families/direct/columns/direct_columns_along.cuh"
#include "cuda/families/direct/columns/direct_columns_entries.cuh"

namespace tapline::cuda::columns {

Kernel along_kernel_of(Dtype dtype, Dtype taps_dtype);

Kernel along_kernel_of(Dtype dtype, Dtype taps_dtype) {
    return with_kernel_types(dtype, taps_dtype,
                             []<class X, class H, class Raw>(ElementType<X>, ElementType<H>, ElementType<Raw>) -> Kernel {
                                 return &direct_columns_along_kernel<X, H, Raw>;
                             });
}

}  // namespace tapline::cuda::columns
