// Which element types the floating-point algorithms of the CPU engine take.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// yes for f32, f64 and their complex types with an output that core::store can write.
inline core::Support supports_elements(const core::Resolved& problem) {
    const Dtype real = real_part_of(problem.dtype);
    if (real != Dtype::f32 && real != Dtype::f64) { return core::Support::no("it takes f32, f64, complex64 and complex128"); }
    if (problem.output_dtype == Dtype::f16 || problem.output_dtype == Dtype::bf16) {
        return core::Support::no("16-bit outputs need a GPU");
    }
    return core::Support::yes();
}

}  // namespace tapline::cpu
