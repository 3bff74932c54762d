// The image kernels for the SIMD targets: the table of each, and the choice among them.
#include "cpu/image/simd_image.hpp"

#include "cpu/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/image/simd_image.inl"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "cpu/image/simd_image.inl"

namespace tapline::cpu {

const ImageTable& image_kernels(Target target) { TAPLINE_RETURN_TABLE_OF(target, image_table, scalar_image_kernels()) }

}  // namespace tapline::cpu
