// The kernels of tiles for sums of integers.
#include "cuda/families/direct/rows/direct_tiles.cuh"

namespace tapline::cuda::tiles {

Kernel integer_kernel_of(Dtype sum_dtype) {
    switch (sum_dtype) {
        case kI32:
            return &direct_tiles_kernel<std::int32_t, std::int32_t>;
        case kI64:
            return &direct_tiles_kernel<std::int64_t, std::int64_t>;
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda::tiles
