// The kernels of direct sums for listed outputs.
#include "cuda/families/overlap_save/checked/overlap_save_repair.cuh"

namespace tapline::cuda::overlap_save {
namespace {

template <class S, class H>
LoadedRepair repair_of() {
    return {&repair_kernel<S, H>, kRepairThreads / 32 * kRepairWarpBytes<S, H>};
}

}  // namespace

LoadedRepair repair_kernel_of(Dtype dtype, Dtype taps_dtype) {
    if (dtype == kF32) { return repair_of<float, float>(); }
    return taps_dtype == kComplex64 ? repair_of<float2, float2>() : repair_of<float2, float>();
}

}  // namespace tapline::cuda::overlap_save
