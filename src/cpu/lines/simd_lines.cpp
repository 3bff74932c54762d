// Samples to and from lines for the SIMD targets: the table of each, and the choice among them.
#include "cpu/lines/simd_lines.hpp"

#include "cpu/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/lines/simd_lines.inl"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "cpu/lines/simd_lines.inl"

namespace tapline::cpu {

const LineTable& line_kernels(Target target) { TAPLINE_RETURN_TABLE_OF(target, line_table, scalar_line_kernels()) }

}  // namespace tapline::cpu
