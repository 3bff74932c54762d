// The kernels of long rows, which are compiled for fewer GPUs than others.
#pragma once

#include "cuda/families/overlap_save/row/overlap_save_row.hpp"

namespace tapline::cuda::overlap_save {

/// Whether the library has their code for a GPU.
bool has_long_rows(const cuda_abi::Device& device);

/// Of a type; null if there is none. `whole`: as RowPlan::whole.
SegmentKernel long_row_kernel(Dtype dtype, bool whole, bool by_halves);

}  // namespace tapline::cuda::overlap_save
