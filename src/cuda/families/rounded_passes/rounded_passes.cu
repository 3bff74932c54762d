// Rounded passes: its kernels, by the bytes of a sample and whether weights are whole.
#include "cuda/families/rounded_passes/rounded_doubles.cuh"
#include "cuda/families/rounded_passes/rounded_passes.cuh"

namespace tapline::cuda::rounded_passes {

Kernel kernel_of(int bytes_per_sample, bool whole) {
    if (bytes_per_sample == 1) { return whole ? &passes_kernel<Shape<1, true>> : &passes_kernel<Shape<1, false>>; }
    return whole ? &passes_kernel<Shape<2, true>> : &passes_kernel<Shape<2, false>>;
}

DoublesKernel doubles_kernel_of(int bytes_per_sample) { return bytes_per_sample == 1 ? &doubles_kernel<1> : &doubles_kernel<2>; }

}  // namespace tapline::cuda::rounded_passes
