// Which kernels of long segments there are.
#include "cuda/families/common/with_types.hpp"
#include "cuda/families/overlap_save/long/overlap_save_long.cuh"

namespace tapline::cuda::overlap_save {

LongKernels pick_long_kernels(Dtype samples) {
    return with_sample_type(samples, []<class S>(ElementType<S>) -> LongKernels {
        constexpr bool kPairs = !kIsComplexElement<S>;
        return {&long_split_kernel<S, typename Element<S>::Real, kPairs>, &long_join_kernel<S, kPairs>};
    });
}

LongKernel pick_long_taps_kernel(Dtype taps, bool is_complex, bool wide) {
    return with_sum_type(taps, [&]<class S>(ElementType<S>) -> LongKernel {
        using T = typename Element<S>::Real;
        if constexpr (kIsComplexElement<S>) {
            return wide ? &long_split_kernel<S, double, false> : &long_split_kernel<S, T, false>;
        } else if (is_complex) {
            return wide ? &long_split_kernel<S, double, false> : &long_split_kernel<S, T, false>;
        } else {
            return wide ? &long_split_kernel<S, double, true> : &long_split_kernel<S, T, true>;
        }
    });
}

}  // namespace tapline::cuda::overlap_save
