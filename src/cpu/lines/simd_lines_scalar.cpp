// Samples to and from lines without SIMD: the same source with vectors of one lane.
#define TAPLINE_SCALAR_TARGET
#include "cpu/simd_targets.hpp"

#include "cpu/lines/simd_lines.inl"

namespace tapline::cpu {

const LineTable& scalar_line_kernels() { return N_SCALAR::line_table(); }

}  // namespace tapline::cpu
