// The kernels of columns for every type of samples and taps, with one filter.
#include "cuda/families/direct/columns/direct_columns_entries.cuh"

namespace tapline::cuda::columns {

Kernel own_kernel_of(Dtype dtype, Dtype taps_dtype, Way way);  // in a source of its own

Kernel kernel_of(Dtype dtype, Dtype taps_dtype, Way way, bool own) {
    return own ? own_kernel_of(dtype, taps_dtype, way) : entry_of<false>(dtype, taps_dtype, way);
}

}  // namespace tapline::cuda::columns
