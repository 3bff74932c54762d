// The kernels of tiles for every type of sums and taps.
#include "cuda/families/common/with_types.hpp"
#include "cuda/families/direct/rows/direct_tiles.cuh"

namespace tapline::cuda::tiles {

Kernel kernel_of(Dtype sum_dtype, Dtype taps_dtype) {
    return with_sums_and_taps(sum_dtype, taps_dtype, []<class X, class H>(ElementType<X>, ElementType<H>) -> Kernel {
        return &direct_tiles_kernel<X, H>;
    });
}

}  // namespace tapline::cuda::tiles
