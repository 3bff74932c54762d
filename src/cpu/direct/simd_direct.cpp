// Direct convolution for the SIMD targets: the table of each, and the choice among them.
#include "cpu/direct/calls/simd_direct.hpp"

#include "cpu/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/direct/simd_direct.inl"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "cpu/direct/simd_direct.inl"

namespace tapline::cpu {

const DirectTable& direct_kernels(Target target) { TAPLINE_RETURN_TABLE_OF(target, direct_table, scalar_direct_kernels()) }

}  // namespace tapline::cpu
