// Direct convolution without SIMD: the same source with vectors of one lane.
#define TAPLINE_SCALAR_TARGET
#include "cpu/simd_targets.hpp"

#include "cpu/direct/simd_direct.inl"

namespace tapline::cpu {

const DirectTable& scalar_direct_kernels() { return N_SCALAR::direct_table(); }

}  // namespace tapline::cpu
