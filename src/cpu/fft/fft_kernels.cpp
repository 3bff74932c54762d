// The FFT's kernels in Highway, compiled once for each instruction set.
#include "cpu/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fft/fft_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <type_traits>

#include "cpu/fft/fft_kernels.hpp"

// The baseline of x86 without SSE4 is served by the scalar target (fft_kernels_scalar.cpp).
#if HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace tapline::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// clang-format off
#include "cpu/fft/simd_fft_tile.inl"
#include "cpu/fft/simd_fft_sink.inl"
#include "cpu/fft/simd_fft.inl"
#include "cpu/fft/simd_fft_columns.inl"
#include "cpu/fft/simd_fft_lanes.inl"
#include "cpu/fft/simd_fft_copy.inl"
// clang-format on

}  // namespace

template <class T>
const FftKernels<T>& fft_kernel_table() {
    static constexpr FftKernels<T> kKernels = {
        static_cast<int>(hn::MaxLanes(hn::ScalableTag<T>())),
        forward_row<T>,
        inverse_row<T>,
        convolve_row<T>,
        convolve_segment<T, T, FftSink<T>>,
        forward_columns<T, T>,
        inverse_columns<T, FftSink<T>>,
        multiply_add<T>,
        turn<T>,
        split<T>,
        join<T>,
        all_finite<T>,
        power<T>,
        convolve_lanes<T>,
        add_lane_power<T>,
        add_lane_passages<T>,
    };
    return kKernels;
}

inline const CheckedFftKernels& checked_fft_kernel_table() {
    static constexpr CheckedFftKernels kKernels = {
        convolve_segment<double, float, CheckedSink>,
        forward_columns<double, float>,
        inverse_columns<double, CheckedSink>,
        energy,
    };
    return kKernels;
}

template const FftKernels<float>& fft_kernel_table<float>();
template const FftKernels<double>& fft_kernel_table<double>();

}  // namespace tapline::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace tapline::cpu {

#if defined(TAPLINE_SCALAR_TARGET)
template <class T>
const FftKernels<T>& fft_kernels_scalar() {
    return N_SCALAR::fft_kernel_table<T>();
}
template const FftKernels<float>& fft_kernels_scalar<float>();
template const FftKernels<double>& fft_kernels_scalar<double>();
const CheckedFftKernels& checked_fft_kernels_scalar() { return N_SCALAR::checked_fft_kernel_table(); }
#else
template <class T>
const FftKernels<T>& fft_kernels(Target target) {
    TAPLINE_RETURN_TABLE_OF(target, fft_kernel_table<T>, fft_kernels_scalar<T>())
}
template const FftKernels<float>& fft_kernels<float>(Target);
template const FftKernels<double>& fft_kernels<double>(Target);
const CheckedFftKernels& checked_fft_kernels(Target target) {
    TAPLINE_RETURN_TABLE_OF(target, checked_fft_kernel_table, checked_fft_kernels_scalar())
}
#endif

}  // namespace tapline::cpu
#endif
