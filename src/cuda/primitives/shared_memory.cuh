// What a GPU's shared memory is too small for.
#pragma once

#include "cuda/primitives/fft.cuh"

namespace tapline::cuda {

/// Whether code is made for GPUs whose blocks never have so many bytes of shared memory. Kernels that need them are chosen by what
/// the device has, so never there, and are compiled to nothing: f32's segments are 1.0 MB of PTX for 7.5, 2.5 for 8.0.
TAPLINE_HOST_DEVICE constexpr bool lacks_shared_memory([[maybe_unused]] int bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return bytes > 64 * 1024;
#else
    return false;
#endif
}

/// Whether code is made for nothing but GPUs whose blocks have k227KB of it: 9.0a is 9.0 alone. Kernels that are chosen where there
/// is less are compiled to nothing.
TAPLINE_HOST_DEVICE constexpr bool has_227_kb() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    return true;
#else
    return false;
#endif
}
inline constexpr int k227KB = 227 * 1024;

}  // namespace tapline::cuda
