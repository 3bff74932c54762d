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

}  // namespace tapline::cuda
