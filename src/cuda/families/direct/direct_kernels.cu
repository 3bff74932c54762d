// The staged kernel for every element type, and the sum of segments.
#include "cuda/families/common/with_types.hpp"
#include "cuda/families/direct/direct.cuh"
#include "cuda/families/direct/split_taps.cuh"

namespace tapline::cuda::staged {

StagedKernel kernel_of(Dtype dtype, Dtype taps_dtype, int vectors) {
    return with_types(dtype, taps_dtype, [&]<class S, class H>(ElementType<S>, ElementType<H>) -> StagedKernel {
        switch (vectors) {
            case 1:
                return &direct_kernel<S, H, 1>;
            case 3:
                return &direct_kernel<S, H, 3>;
            default:
                return nullptr;
        }
    });
}

SumKernel sum_kernel_of(Dtype dtype) {
    return with_sample_type(dtype, []<class S>(ElementType<S>) -> SumKernel { return &split::sum_segments_kernel<S>; });
}

}  // namespace tapline::cuda::staged
