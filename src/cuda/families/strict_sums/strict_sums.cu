// Samples to doubles; and back to outputs, each checked.
#include "cuda/families/common/walk.cuh"
#include "cuda/families/strict_sums/strict_sums.hpp"
#include "cuda/primitives/epilogue.cuh"

namespace tapline::cuda::strict_sums {
namespace {

__global__ void __launch_bounds__(kPassThreads) widen_samples_kernel(const __grid_constant__ Widen w) {
    unsigned largest = 0;
    for_each_element(w.walk.count, [&](std::int64_t number) {
        const float x = w.in[place_of(w.walk, number).at];
        w.to[number] = static_cast<double>(x);
        const unsigned bits = __float_as_uint(x) & 0x7fffffffU;
        if (bits < 0x7f800000U) { largest = max(largest, bits); }
    });
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

/// The sum of an output in double, by all lanes of a warp together, each a share of every row of taps.
__device__ __noinline__ double sum_by_warp(const Check& c, const Output& o) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto constant = static_cast<float>(c.common.constant_real);
    const float* taps = c.taps + o.filter * c.filter_elements;
    double sum = 0;
#pragma unroll 1
    for (std::int64_t i = 0; i < c.z.k; ++i) {
        const Met z = meet(c.z, o.z + i - c.z.origin);
#pragma unroll 1
        for (std::int64_t j = 0; j < c.y.k; ++j, taps += c.x.k) {
            const Met y = meet(c.y, o.y + j - c.y.origin);
            // The constant stands where one of the axes with it has left the signal, unless one with zeros has.
            if ((z.index < 0 && !z.is_constant) || (y.index < 0 && !y.is_constant)) { continue; }
            const bool instead = z.index < 0 || y.index < 0;
            const float* const row = c.in + o.in + z.index * c.z.in_stride + y.index * c.y.in_stride;
#pragma unroll 1
            for (std::int64_t t = lane; t < c.x.k; t += 32) {
                const Met x = meet(c.x, o.x + t - c.x.origin);
                if (x.index < 0 && !x.is_constant) { continue; }
                const float sample = instead || x.index < 0 ? constant : row[x.index * c.x.in_stride];
                sum += static_cast<double>(__ldg(taps + t)) * static_cast<double>(sample);
            }
        }
    }
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) { sum += __shfl_xor_sync(0xffffffffU, sum, lanes); }
    return sum;
}

/// A thread an output; those that fail are summed by its whole warp, one after the other.
__global__ void __launch_bounds__(kPassThreads) check_sums_kernel(const __grid_constant__ Check c) {
    const bool has_constant = c.x.boundary == kConstant || c.y.boundary == kConstant || c.z.boundary == kConstant;
    const double constant = has_constant ? fabs(c.common.constant_real) : 0;
    const double least = c.least * fmax(static_cast<double>(__uint_as_float(*c.largest)), constant);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t first = std::int64_t{blockIdx.x} * (kPassThreads * kPassEach) + threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < kPassEach; ++i) {
        const std::int64_t number = first + i * kPassThreads;
        const bool exists = number < c.walk.count;
        double sum = exists ? c.from[number] : 0;
        const bool keeps = !exists || (isfinite(sum) && fabs(sum) >= least);
        unsigned failed = __ballot_sync(0xffffffffU, !keeps);
        while (failed != 0) {
            const int which = __ffs(static_cast<int>(failed)) - 1;
            failed &= failed - 1;
            const double summed = sum_by_warp(c, output_of(c, number - lane + which));
            if (which == lane) { sum = summed; }
        }
        if (!exists) { continue; }
        const Output o = output_of(c, number);
        c.out[o.out] = finish(c.common, static_cast<float>(sum));
    }
}

}  // namespace

WidenKernel widen_kernel() { return &widen_samples_kernel; }
CheckKernel check_kernel() { return &check_sums_kernel; }

}  // namespace tapline::cuda::strict_sums
