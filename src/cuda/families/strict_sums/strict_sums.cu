// Samples to doubles; and back to outputs, each checked.
#include "cuda/families/common/walk.cuh"
#include "cuda/families/strict_sums/strict_sums.hpp"
#include "cuda/primitives/elements.cuh"
#include "cuda/primitives/epilogue.cuh"

namespace tapline::cuda::strict_sums {
namespace {

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

__device__ __forceinline__ double constant_of(const Check& c, double) { return c.common.constant_real; }
__device__ __forceinline__ double2 constant_of(const Check& c, double2) { return {c.common.constant_real, c.common.constant_imag}; }

/// What one of `parts` warps has of an output's sum in double, by all its lanes: rows of taps in turn, or a share of the only one.
/// A lane's samples and taps are under way together: one after the other 12,029 taps took 0.1 ms.
template <class W, class H>
__device__ __noinline__ W sum_part(const Check& c, const Output& o, int part, int parts) {
    constexpr int kEach = 8;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t rows = c.z.k * c.y.k;
    const std::int64_t first = rows > 1 ? lane : 32 * part + lane;
    const int step = rows > 1 ? 32 : 32 * parts;
    W sum{};
#pragma unroll 1
    for (std::int64_t r = rows > 1 ? part : 0; r < rows; r += parts) {
        const std::int64_t i = divide(r, c.y.k);
        const Met z = meet(c.z, o.z + i - c.z.origin);
        const Met y = meet(c.y, o.y + (r - i * c.y.k) - c.y.origin);
        // The constant stands where one of the axes with it has left the signal, unless one with zeros has.
        if ((z.index < 0 && !z.is_constant) || (y.index < 0 && !y.is_constant)) { continue; }
        const bool instead = z.index < 0 || y.index < 0;
        const W* const in = static_cast<const W*>(c.in) + (o.in + z.index * c.z.in_stride + y.index * c.y.in_stride);
        const H* const taps = static_cast<const H*>(c.taps) + (o.filter * c.filter_elements + r * c.x.k);
#pragma unroll 1
        for (std::int64_t begin = first; begin < c.x.k; begin += kEach * step) {
            const std::int64_t position = o.x + begin - c.x.origin;
            const std::int64_t beyond = std::int64_t{kEach - 1} * step;
            if (!instead && position >= 0 && position + beyond < c.x.n && begin + beyond < c.x.k) {
                W x[kEach];
                H h[kEach];
#pragma unroll
                for (int e = 0; e < kEach; ++e) {
                    x[e] = in[(position + e * step) * c.x.in_stride];
                    h[e] = taps[begin + e * step];
                }
#pragma unroll
                for (int e = 0; e < kEach; ++e) { multiply_add(sum, x[e], widened(h[e])); }
                continue;
            }
#pragma unroll 1
            for (std::int64_t t = begin; t <= begin + beyond && t < c.x.k; t += step) {
                const Met at = meet(c.x, o.x + t - c.x.origin);
                if (at.index < 0 && !at.is_constant) { continue; }
                const W x = instead || at.index < 0 ? constant_of(c, W{}) : in[at.index * c.x.in_stride];
                multiply_add(sum, x, widened(taps[t]));
            }
        }
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        if constexpr (std::is_same_v<W, double2>) {
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
__device__ __forceinline__ void add(double& sum, double more) { sum += more; }
__device__ __forceinline__ void add(double2& sum, double2 more) {
    sum.x += more.x;
    sum.y += more.y;
}

/// A thread some outputs, each by itself. Those that fail are summed afterwards: by a warp each, or by all warps of the block one
/// after the other.
template <class W, class H>
__global__ void __launch_bounds__(kPassThreads, 4) check_sums_kernel(const __grid_constant__ Check c) {
    constexpr int kOutputs = kPassThreads * kPassEach;
    constexpr int kWarps = kPassThreads / 32;
    __shared__ std::uint16_t failed[kOutputs];
    __shared__ W shares[kWarps];
    __shared__ int failures;
    if (threadIdx.x == 0) { failures = 0; }
    __syncthreads();
    const bool has_constant = c.x.boundary == kConstant || c.y.boundary == kConstant || c.z.boundary == kConstant;
    const double constant = has_constant ? fmax(fabs(c.common.constant_real), fabs(c.common.constant_imag)) : 0;
    const double least = c.least * fmax(static_cast<double>(__uint_as_float(*c.largest)), constant);
    const std::int64_t first = std::int64_t{blockIdx.x} * kOutputs;
    const auto store = [&](const Output& o, W sum) {
        const auto made = finish(c.common, rounded(sum));
        using Out = std::remove_const_t<decltype(made)>;
        if (c.common.output_type == kOwnType<Out>) {
            store_element(static_cast<Out*>(c.out) + o.out, made);
        } else {
            store_converted(c.common, c.out, o.out, made);
        }
    };
    const W* const from = static_cast<const W*>(c.from) + first;
    const int there = static_cast<int>(min(c.walk.count - first, std::int64_t{kOutputs}));
    int at = static_cast<int>(threadIdx.x);
    W next = at < there ? from[at] : W{};
#pragma unroll 1
    for (; at < there; at += kPassThreads) {
        const W sum = next;
        if (at + kPassThreads < there) { next = from[at + kPassThreads]; }
        if (keeps_bound(sum, least)) {
            store(output_of(c, first + at), sum);
        } else {
            failed[atomicAdd(&failures, 1)] = static_cast<std::uint16_t>(at);
        }
    }
    __syncthreads();
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int groups = c.together != 0 ? 1 : kWarps;
#pragma unroll 1
    for (int i = c.together != 0 ? 0 : warp; i < failures; i += groups) {
        const Output o = output_of(c, first + failed[i]);
        W sum = sum_part<W, H>(c, o, c.together != 0 ? warp : 0, kWarps / groups);
        if (c.together != 0) {
            if (threadIdx.x % 32 == 0) { shares[warp] = sum; }
            __syncthreads();
            sum = shares[0];
            for (int other = 1; other < kWarps; ++other) { add(sum, shares[other]); }
            __syncthreads();  // before the next one's
        }
        if (threadIdx.x % (c.together != 0 ? kPassThreads : 32) == 0) { store(o, sum); }
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
    if (samples != kComplex64) { return &check_sums_kernel<double, float>; }
    return taps == kComplex64 ? &check_sums_kernel<double2, float2> : &check_sums_kernel<double2, float>;
}

}  // namespace tapline::cuda::strict_sums
