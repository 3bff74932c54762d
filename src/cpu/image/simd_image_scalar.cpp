// The image kernels without SIMD: the same source with vectors of one lane.
#define TAPLINE_SCALAR_TARGET
#include "cpu/simd_targets.hpp"

#include "cpu/image/simd_image.inl"

namespace tapline::cpu {

const ImageTable& scalar_image_kernels() { return N_SCALAR::image_table(); }

}  // namespace tapline::cpu
