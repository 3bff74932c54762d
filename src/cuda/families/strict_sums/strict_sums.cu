// Samples to doubles; and back to outputs, each checked.
#include "cuda/families/common/walk.cuh"
#include "cuda/families/strict_sums/strict_sums.hpp"
#include "cuda/primitives/elements.cuh"
#include "cuda/primitives/epilogue.cuh"

namespace tapline::cuda::strict_sums {
namespace {

/// Samples of real numbers that are widened by their type, whichever it is.
struct AnyReal {};

template <class S>
using Wide = std::conditional_t<kIsComplexElement<S>, double2, double>;

__device__ __forceinline__ double widened(float x) { return x; }
__device__ __forceinline__ double2 widened(float2 x) { return {x.x, x.y}; }

/// The bits of a float that is no smaller; of what is not finite none.
__device__ __forceinline__ unsigned magnitude(double x) { return isfinite(x) ? __float_as_uint(__double2float_ru(fabs(x))) : 0; }
__device__ __forceinline__ unsigned magnitude(double2 x) { return max(magnitude(x.x), magnitude(x.y)); }

/// A thread's samples are under way together.
template <class Raw>
__global__ void __launch_bounds__(kPassThreads) widen_samples_kernel(const __grid_constant__ Widen w) {
    const std::int64_t first = std::int64_t{blockIdx.x} * (kPassThreads * kPassEach) + threadIdx.x;
    Raw raw[kPassEach];
    Wide<Raw> x[kPassEach];
#pragma unroll
    for (int i = 0; i < kPassEach; ++i) {
        const std::int64_t number = first + i * kPassThreads;
        raw[i] = number < w.walk.count ? load_element(static_cast<const Raw*>(w.in) + place_of(w.walk, number).at) : Raw{};
    }
    if constexpr (kIsComplexElement<Raw>) {
#pragma unroll
        for (int i = 0; i < kPassEach; ++i) { x[i] = widened(raw[i]); }
    } else {
        widen_raw(w.type, raw, x);
    }
    unsigned largest = 0;
#pragma unroll
    for (int i = 0; i < kPassEach; ++i) {
        const std::int64_t number = first + i * kPassThreads;
        if (number < w.walk.count) { static_cast<Wide<Raw>*>(w.to)[number] = x[i]; }
        largest = max(largest, magnitude(x[i]));
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) { largest = max(largest, __shfl_xor_sync(0xffffffffU, largest, lanes)); }
    if (threadIdx.x % 32 == 0 && largest > *w.largest) { atomicMax(w.largest, largest); }
}

/// Where a position along an axis comes from.
struct Met {
    std::int64_t index;  // -1: nowhere
    bool is_constant;
};
__device__ __forceinline__ Met meet(const SumAxis& a, std::int64_t position) {
    if (position >= 0 && position < a.n) { return {position, false}; }
    const std::int64_t index = near_boundary_index(a.boundary, position, a.n);
    return {index, index < 0 && a.boundary == kConstant};
}

/// Places of an output: along the filtered axes, where its row of samples begins, and its filter.
struct Output {
    std::int64_t x, y, z, in, out, filter;
};
__device__ __forceinline__ Output output_of(const Check& c, std::int64_t number) {
    Output o{0, 0, 0, 0, c.walk.first, 0};
    for_each_axis(c.walk, number, [&](int i, std::int64_t index) {
        o.out += index * c.walk.steps[i];
        o.in += index * c.in_steps[i];
        if (i == c.places[0]) { o.x = index; }
        if (i == c.places[1]) { o.y = index; }
        if (i == c.places[2]) { o.z = index; }
        if (i == c.filter_axis) { o.filter = index % c.filters; }
    });
    return o;
}

template <class S>
__device__ __forceinline__ Wide<S> sample_at(const Check& c, std::int64_t index) {
    if constexpr (std::is_same_v<S, AnyReal>) {
        return load_any<double>(c.input_type, c.input_bytes, c.in, index);
    } else {
        return widened(load_element(static_cast<const S*>(c.in) + index));
    }
}

template <class S>
__device__ __forceinline__ Wide<S> constant_of(const Check& c) {
    if constexpr (kIsComplexElement<S>) {
        return {c.common.constant_real, c.common.constant_imag};
    } else {
        return c.common.constant_real;
    }
}

/// The sum of an output in double, by all lanes of a warp together, each a share of every row of taps.
template <class S, class H>
__device__ __noinline__ Wide<S> sum_by_warp(const Check& c, const Output& o) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const H* taps = static_cast<const H*>(c.taps) + o.filter * c.filter_elements;
    Wide<S> sum{};
#pragma unroll 1
    for (std::int64_t i = 0; i < c.z.k; ++i) {
        const Met z = meet(c.z, o.z + i - c.z.origin);
#pragma unroll 1
        for (std::int64_t j = 0; j < c.y.k; ++j, taps += c.x.k) {
            const Met y = meet(c.y, o.y + j - c.y.origin);
            // The constant stands where one of the axes with it has left the signal, unless one with zeros has.
            if ((z.index < 0 && !z.is_constant) || (y.index < 0 && !y.is_constant)) { continue; }
            const bool instead = z.index < 0 || y.index < 0;
            const std::int64_t row = o.in + z.index * c.z.in_stride + y.index * c.y.in_stride;
#pragma unroll 1
            for (std::int64_t t = lane; t < c.x.k; t += 32) {
                const Met x = meet(c.x, o.x + t - c.x.origin);
                if (x.index < 0 && !x.is_constant) { continue; }
                const Wide<S> sample = instead || x.index < 0 ? constant_of<S>(c) : sample_at<S>(c, row + x.index * c.x.in_stride);
                multiply_add(sum, sample, widened(taps[t]));
            }
        }
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        if constexpr (kIsComplexElement<S>) {
            sum.x += __shfl_xor_sync(0xffffffffU, sum.x, lanes);
            sum.y += __shfl_xor_sync(0xffffffffU, sum.y, lanes);
        } else {
            sum += __shfl_xor_sync(0xffffffffU, sum, lanes);
        }
    }
    return sum;
}

__device__ __forceinline__ bool keeps_bound(double sum, double least) { return isfinite(sum) && fabs(sum) >= least; }
__device__ __forceinline__ bool keeps_bound(double2 sum, double least) {
    return keeps_bound(sum.x, least) && keeps_bound(sum.y, least);
}
__device__ __forceinline__ float rounded(double sum) { return static_cast<float>(sum); }
__device__ __forceinline__ float2 rounded(double2 sum) { return {static_cast<float>(sum.x), static_cast<float>(sum.y)}; }

/// A thread an output; those that fail are summed by its whole warp, one after the other.
template <class S, class H>
__global__ void __launch_bounds__(kPassThreads) check_sums_kernel(const __grid_constant__ Check c) {
    const bool has_constant = c.x.boundary == kConstant || c.y.boundary == kConstant || c.z.boundary == kConstant;
    const double constant = has_constant ? fmax(fabs(c.common.constant_real), fabs(c.common.constant_imag)) : 0;
    const double least = c.least * fmax(static_cast<double>(__uint_as_float(*c.largest)), constant);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t first = std::int64_t{blockIdx.x} * (kPassThreads * kPassEach) + threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < kPassEach; ++i) {
        const std::int64_t number = first + i * kPassThreads;
        const bool exists = number < c.walk.count;
        Wide<S> sum = exists ? static_cast<const Wide<S>*>(c.from)[number] : Wide<S>{};
        const bool keeps = !exists || keeps_bound(sum, least);
        unsigned failed = __ballot_sync(0xffffffffU, !keeps);
        while (failed != 0) {
            const int which = __ffs(static_cast<int>(failed)) - 1;
            failed &= failed - 1;
            const Wide<S> summed = sum_by_warp<S, H>(c, output_of(c, number - lane + which));
            if (which == lane) { sum = summed; }
        }
        if (!exists) { continue; }
        const Output o = output_of(c, number);
        const auto made = finish(c.common, rounded(sum));
        using Out = std::remove_const_t<decltype(made)>;
        if (c.common.output_type == kOwnType<Out>) {
            store_element(static_cast<Out*>(c.out) + o.out, made);
        } else {
            store_converted(c.common, c.out, o.out, made);
        }
    }
}

}  // namespace

WidenKernel widen_kernel(Dtype samples) {
    switch (samples) {
        case kF64:
        case kComplex128:
            return nullptr;
        case kComplex64:
            return &widen_samples_kernel<float2>;
        default:
            break;
    }
    switch (stored_bytes(samples)) {
        case 1:
            return &widen_samples_kernel<std::uint8_t>;
        case 2:
            return &widen_samples_kernel<std::uint16_t>;
        case 4:
            return &widen_samples_kernel<std::uint32_t>;
        default:
            return &widen_samples_kernel<std::uint64_t>;
    }
}
CheckKernel check_kernel(Dtype samples, Dtype taps) {
    if (samples == kComplex64) {
        return taps == kComplex64 ? &check_sums_kernel<float2, float2> : &check_sums_kernel<float2, float>;
    }
    return samples == kF32 ? &check_sums_kernel<float, float> : &check_sums_kernel<AnyReal, float>;
}

}  // namespace tapline::cuda::strict_sums
