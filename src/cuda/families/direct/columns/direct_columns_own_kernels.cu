// The kernels of columns with a filter for each row.
#include "cuda/families/direct/columns/direct_columns_entries.cuh"

namespace tapline::cuda::columns {

Kernel own_kernel_of(Dtype dtype, Dtype taps_dtype, Way way);

Kernel own_kernel_of(Dtype dtype, Dtype taps_dtype, Way way) { return entry_of<true>(dtype, taps_dtype, way); }

}  // namespace tapline::cuda::columns
