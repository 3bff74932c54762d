// Sums of rows side by side without SIMD: the same source with vectors of one lane.
#define TAPLINE_SCALAR_TARGET
#include "cpu/simd_targets.hpp"

#include "cpu/direct/simd_columns.inl"

namespace tapline::cpu {

const ColumnsTable& scalar_columns_kernels() { return N_SCALAR::columns_table(); }

}  // namespace tapline::cpu
