// Widened samples in a kernel.
#pragma once

#include "cuda/primitives/boundary.cuh"
#include "cuda/primitives/widened.hpp"

namespace tapline::cuda {

template <>
__device__ __forceinline__ WideComplex load_element(const WideComplex* from) {
    return {from->x, from->y};
}
template <>
__device__ inline WideFloat boundary_constant(const Arguments& a) {
    return {static_cast<float>(a.constant_real)};
}
template <>
__device__ inline WideComplex boundary_constant(const Arguments& a) {
    return {static_cast<float>(a.constant_real), static_cast<float>(a.constant_imag)};
}

/// Past the caches; a complex sample need not be aligned as a whole.
__device__ __forceinline__ void store_widened(WideFloat* to, const WideFloat& x) { __stcs(&to->value, x.value); }
__device__ __forceinline__ void store_widened(WideComplex* to, const WideComplex& x) {
    __stcs(&to->x, x.x);
    __stcs(&to->y, x.y);
}

}  // namespace tapline::cuda
