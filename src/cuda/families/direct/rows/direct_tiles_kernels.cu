// The kernels of tiles for every type of sums and taps.
#include "cuda/families/common/with_types.hpp"
#include "cuda/families/direct/rows/direct_tiles.cuh"

namespace tapline::cuda::tiles {

Kernel kernel_of(Dtype sum_dtype, Dtype taps_dtype) {
    if (const Kernel of_integers = integer_kernel_of(sum_dtype); of_integers != nullptr) { return of_integers; }
    return with_types(sum_dtype, taps_dtype, [&]<class X, class H>(ElementType<X>, ElementType<H>) -> Kernel {
        if constexpr (sizeof(X) >= 4) { return &direct_tiles_kernel<X, H>; }
        return nullptr;
    });
}

}  // namespace tapline::cuda::tiles
