// The kernels of rows on a line for every type of sums and taps.
#include "cuda/families/common/with_types.hpp"
#include "cuda/families/direct/rows/direct_rows.cuh"

namespace tapline::cuda::rows {

Kernel kernel_of(Dtype sum_dtype, Dtype taps_dtype) {
    return with_sums_and_taps(sum_dtype, taps_dtype,
                              []<class X, class H>(ElementType<X>, ElementType<H>) -> Kernel { return &direct_rows_kernel<X, H>; });
}

}  // namespace tapline::cuda::rows
