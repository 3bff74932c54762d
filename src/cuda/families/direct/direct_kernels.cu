// The staged kernel for every element type, and the sum of segments.
#include "cuda/families/direct/direct.cuh"
#include "cuda/families/direct/split_taps.cuh"

namespace tapline::cuda {
namespace {

template <class S, class H>
const void* pick(int vectors) {
    switch (vectors) {
        case 1:
            return reinterpret_cast<const void*>(&staged::direct_kernel<S, H, 1>);
        case 3:
            return reinterpret_cast<const void*>(&staged::direct_kernel<S, H, 3>);
        case 5:
            if constexpr (sizeof(S) == 4) {
                return reinterpret_cast<const void*>(&staged::direct_kernel<S, H, 5>);
            } else {
                return nullptr;
            }
        default:
            return nullptr;
    }
}

}  // namespace

const void* direct_kernel_of(Dtype dtype, Dtype taps_dtype, int vectors) {
    switch (dtype) {
        case kF32:
            return pick<float, float>(vectors);
        case kF64:
            return pick<double, double>(vectors);
        case kComplex64:
            return taps_dtype == kF32 ? pick<float2, float>(vectors) : pick<float2, float2>(vectors);
        case kComplex128:
            return taps_dtype == kF64 ? pick<double2, double>(vectors) : pick<double2, double2>(vectors);
        case kF16:
            return pick<__half, float>(vectors);
        case kBf16:
            return pick<__nv_bfloat16, float>(vectors);
        default:
            return nullptr;
    }
}

const void* sum_segments_kernel_of(Dtype dtype) {
    switch (dtype) {
        case kF32:
            return reinterpret_cast<const void*>(&split::sum_segments_kernel<float>);
        case kF64:
            return reinterpret_cast<const void*>(&split::sum_segments_kernel<double>);
        case kComplex64:
            return reinterpret_cast<const void*>(&split::sum_segments_kernel<float2>);
        case kComplex128:
            return reinterpret_cast<const void*>(&split::sum_segments_kernel<double2>);
        case kF16:
            return reinterpret_cast<const void*>(&split::sum_segments_kernel<__half>);
        case kBf16:
            return reinterpret_cast<const void*>(&split::sum_segments_kernel<__nv_bfloat16>);
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda
