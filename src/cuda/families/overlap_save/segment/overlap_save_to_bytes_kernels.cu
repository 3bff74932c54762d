// The kernels of segments for samples of f32 whose outputs are bytes: short segments, which memory limits.
#include "cuda/families/overlap_save/segment/overlap_save_narrow.cuh"
#include "cuda/families/overlap_save/segment/overlap_save_plain_kernel.cuh"

namespace tapline::cuda::overlap_save {

Kernel pick_to_bytes_kernel(int warps) {
    return with_warps<4>(warps, [&]<int kWarps>() { return plain_kernel<ToBytes, kWarps, Spectrum::block>(); });
}

}  // namespace tapline::cuda::overlap_save
