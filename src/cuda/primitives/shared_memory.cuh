// What a GPU's shared memory is too small for.
#pragma once

namespace tapline::cuda {

/// Whether code is made for GPUs whose blocks never have so many bytes of shared memory. Kernels that need them are chosen by what the
/// device has, so never there, and are compiled to nothing: half of the time for 7.5, of a kernel's sizes the large ones.
__host__ __device__ constexpr bool lacks_shared_memory([[maybe_unused]] int bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return bytes > 64 * 1024;
#else
    return false;
#endif
}

}  // namespace tapline::cuda
