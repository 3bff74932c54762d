// The window kernel for every element type.
#include "cuda/families/direct/direct_window.cuh"

namespace tapline::cuda {
namespace {

template <class S, class H>
const void* pick(int vectors, bool row_taps) {
    switch (vectors) {
        case 1:
            return row_taps ? reinterpret_cast<const void*>(&window::direct_window_kernel<S, H, 1, 0, true>)
                            : reinterpret_cast<const void*>(&window::direct_window_kernel<S, H, 1, 0, false>);
        case 3:
            return row_taps ? reinterpret_cast<const void*>(&window::direct_window_kernel<S, H, 3, 0, true>)
                            : reinterpret_cast<const void*>(&window::direct_window_kernel<S, H, 3, 0, false>);
        case 5:
            if constexpr (sizeof(S) == 4) {
                return row_taps ? reinterpret_cast<const void*>(&window::direct_window_kernel<S, H, 5, 0, true>)
                                : reinterpret_cast<const void*>(&window::direct_window_kernel<S, H, 5, 0, false>);
            } else {
                return nullptr;
            }
        default:
            return nullptr;
    }
}

}  // namespace

const void* window_kernel_of(Dtype dtype, Dtype taps_dtype, int vectors, bool row_taps) {
    switch (dtype) {
        case kF32:
            return pick<float, float>(vectors, row_taps);
        case kF64:
            return pick<double, double>(vectors, row_taps);
        case kComplex64:
            return taps_dtype == kF32 ? pick<float2, float>(vectors, row_taps) : pick<float2, float2>(vectors, row_taps);
        case kComplex128:
            return taps_dtype == kF64 ? pick<double2, double>(vectors, row_taps) : pick<double2, double2>(vectors, row_taps);
        case kF16:
            return pick<__half, float>(vectors, row_taps);
        case kBf16:
            return pick<__nv_bfloat16, float>(vectors, row_taps);
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda
