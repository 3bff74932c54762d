// The kernels of segments for samples of f32 whose outputs are bytes: short segments, which memory limits.
#include "cuda/families/overlap_save/segment/overlap_save_narrow.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_plain_kernel.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"

namespace tapline::cuda::overlap_save {

Kernel pick_to_bytes_kernel(int warps) {
    switch (warps) {
        case 1:
            return plain_kernel<ToBytes, 1, Spectrum::block>();
        case 2:
            return plain_kernel<ToBytes, 2, Spectrum::block>();
        case 4:
            return plain_kernel<ToBytes, 4, Spectrum::block>();
        default:
            return {};
    }
}

}  // namespace tapline::cuda::overlap_save
