// The kernels of rung 36.
#include "cuda/families/bytes/bytes.cuh"

namespace tapline::cuda::bytes_rung {

template <bool kAcross>
static Kernel kernel_with(int steps) {
    return steps == 1 ? &bytes_kernel<1, kAcross> : steps == 2 ? &bytes_kernel<2, kAcross> : &bytes_kernel<kMostSteps, kAcross>;
}
Kernel kernel_of(int steps, bool across) { return across ? kernel_with<true>(steps) : kernel_with<false>(steps); }

}  // namespace tapline::cuda::bytes_rung
