// The window kernel for every element type.
#include "cuda/families/common/with_types.hpp"
#include "cuda/families/direct/direct_window.cuh"

namespace tapline::cuda::window {
namespace {

template <class S>
inline constexpr int kMost = sizeof(S) == 4 ? 5 : 3;  // vectors a thread

template <class S, class H, int kVectors>
KernelWithTaps<H> pick(bool row_taps) {
    return row_taps ? &direct_window_kernel<S, H, kVectors, 0, true> : &direct_window_kernel<S, H, kVectors, 0, false>;
}

}  // namespace

WindowKernel kernel_of(Dtype dtype, Dtype taps_dtype, int vectors, bool row_taps) {
    return with_types(dtype, taps_dtype, [&]<class S, class H>(ElementType<S>, ElementType<H>) -> WindowKernel {
        switch (vectors) {
            case 1:
                return pick<S, H, 1>(row_taps);
            case kMost<S>:
                return pick<S, H, kMost<S>>(row_taps);
            default:
                return {};
        }
    });
}

}  // namespace tapline::cuda::window
