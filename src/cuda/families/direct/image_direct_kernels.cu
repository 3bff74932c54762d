// The direct kernels for images.
#include "cuda/families/direct/image_direct.cuh"

namespace tapline::cuda::image_direct_rung {
namespace {

template <class S, class H>
struct Kernels {
    static constexpr Kernel kTiled = &kernel<S, H>;
    static constexpr ExactKernel kExact = &exact_kernel<S, H>;
};

// visit(Kernels<S, H>) of the two types.
template <class Visit>
auto visit(Dtype dtype, Dtype taps_dtype, const Visit& v) {
    switch (dtype) {
        case kF32:
            return v(Kernels<float, float>{});
        case kF64:
            return v(Kernels<double, double>{});
        case kComplex64:
            return taps_dtype == kComplex64 ? v(Kernels<float2, float2>{}) : v(Kernels<float2, float>{});
        case kComplex128:
            return taps_dtype == kComplex128 ? v(Kernels<double2, double2>{}) : v(Kernels<double2, double>{});
        case kF16:
            return v(Kernels<__half, float>{});
        case kBf16:
            return v(Kernels<__nv_bfloat16, float>{});
        case kU8:
            return v(Kernels<std::uint8_t, float>{});
        default:
            return v(Kernels<std::uint16_t, float>{});
    }
}

}  // namespace

Kernel kernel_of(Dtype dtype, Dtype taps_dtype) {
    return visit(dtype, taps_dtype, [](auto kernels) { return kernels.kTiled; });
}

ExactKernel exact_kernel_of(Dtype dtype, Dtype taps_dtype) {
    return visit(dtype, taps_dtype, [](auto kernels) { return kernels.kExact; });
}

SmallKernel small_kernel_of(int side) {
    switch (side) {
        case 3:
            return &small_kernel<3>;
        case 5:
            return &small_kernel<5>;
        case 7:
            return &small_kernel<7>;
        default:
            return nullptr;
    }
}

}  // namespace tapline::cuda::image_direct_rung
