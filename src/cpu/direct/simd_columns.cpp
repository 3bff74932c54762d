// Sums of rows side by side for the SIMD targets: the table of each, and the choice among them.
#include "cpu/direct/simd_columns.hpp"

#include "cpu/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/direct/simd_columns.inl"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "cpu/direct/simd_columns.inl"

namespace tapline::cpu {

const ColumnsTable& columns_kernels(Target target) { TAPLINE_RETURN_TABLE_OF(target, columns_table, scalar_columns_kernels()) }

}  // namespace tapline::cpu
