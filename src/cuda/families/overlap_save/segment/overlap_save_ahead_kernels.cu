// The kernels of tiles whose samples come ahead.
#include "cuda/families/overlap_save/segment/overlap_save_ahead.hpp"
#include "cuda/families/overlap_save/segment/overlap_save_tiles.cuh"

namespace tapline::cuda::overlap_save {

SegmentKernel ahead_kernel(bool is_complex) {
    return is_complex ? &overlap_save_tiles_kernel<float2, 1, Shape<float, 1>, true>
                      : &overlap_save_tiles_kernel<float, 1, Shape<float, 1>, true>;
}

}  // namespace tapline::cuda::overlap_save
