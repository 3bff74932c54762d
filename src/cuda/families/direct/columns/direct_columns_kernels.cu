// The kernels of columns for every type of samples and taps, with one filter.
#include "cuda/families/direct/columns/direct_columns_entries.cuh"

namespace tapline::cuda::columns {

Kernel along_kernel_of(Dtype dtype, Dtype taps_dtype);  // each in a source of its own
Kernel own_kernel_of(Dtype dtype, Dtype taps_dtype, Way way);

Kernel kernel_of(Dtype dtype, Dtype taps_dtype, Way way, bool own) {
    if (way == Way::along) { return along_kernel_of(dtype, taps_dtype); }
    return own ? own_kernel_of(dtype, taps_dtype, way) : entry_of<false>(dtype, taps_dtype, way);
}

}  // namespace tapline::cuda::columns
