// 20: few outputs of very many taps.
#pragma once

#include "cuda/primitives/epilogue.cuh"

namespace tapline::cuda::split {

/// One thread an output: the segments' sums in order, so that the result does not depend on how blocks were scheduled.
template <class S>
__global__ void __launch_bounds__(128) sum_segments_kernel(const __grid_constant__ Arguments a, const void* partial, int segments) {
    using Sum = typename Element<S>::Sum;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= a.rows * a.count) { return; }
    Sum sum{};
    for (int s = 0; s < segments; ++s) {
        const Sum part = static_cast<const Sum*>(partial)[s * a.rows * a.count + i];
        if constexpr (kIsComplexElement<Sum>) {
            sum.x += part.x;
            sum.y += part.y;
        } else {
            sum += part;
        }
    }
    sum = finish(a, sum);
    const std::int64_t row = i / a.count;
    const std::int64_t at = row * a.out_row + (i - row * a.count) * a.out_sample;
    if (a.converts) {
        store_converted(a, a.out, at, sum);
    } else {
        store_element(static_cast<S*>(a.out) + at, Element<S>::narrow(sum));
    }
}

}  // namespace tapline::cuda::split
