// Samples of rows as numbers of the type of sums.
#include "cuda/families/transposed/widened_rows.hpp"

#include "cuda/families/common/with_types.hpp"
#include "cuda/primitives/lines/lines.cuh"

namespace tapline::cuda::widened_rows_pass {
namespace {

/// A block takes kThreads * kEach samples of a row; all of a thread's are under way at once.
template <class X, class Raw>
__global__ void __launch_bounds__(kThreads) widen_kernel(const __grid_constant__ Passage p) {
    const std::int64_t row = divide(blockIdx.x, p.tiles);
    const std::int64_t first = (blockIdx.x - row * p.tiles) * (kThreads * kEach) + threadIdx.x;
    const Raw* const from = static_cast<const Raw*>(p.from) + row * p.from_row;
    X* const to = static_cast<X*>(p.to) + row * p.to_row;
    Raw raw[kEach];
    X x[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const std::int64_t at = first + i * kThreads;
        raw[i] = at < p.samples ? load_element(from + at * p.from_sample) : Raw{};
    }
    widen_raw(p.type, raw, x);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        const std::int64_t at = first + i * kThreads;
        if (at < p.samples) { to[at] = x[i]; }
    }
}

template <class X>
Kernel pick(int bytes) {
    return bytes == 1 ? &widen_kernel<X, std::uint8_t> : bytes == 2 ? &widen_kernel<X, std::uint16_t> : nullptr;
}

}  // namespace

Kernel kernel_of(Dtype samples, Dtype sums) {
    if (samples == sums) {
        return with_sum_type(sums, [&]<class X>(ElementType<X>) { return Kernel{&widen_kernel<X, X>}; });
    }
    return sums == kF32 ? pick<float>(stored_bytes(samples)) : sums == kF64 ? pick<double>(stored_bytes(samples)) : nullptr;
}

}  // namespace tapline::cuda::widened_rows_pass
