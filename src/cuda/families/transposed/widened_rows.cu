// Integers of rows as sums.
#include "cuda/families/transposed/widened_rows.hpp"
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
        raw[i] = at < p.samples ? from[at] : Raw{};
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
    switch (bytes) {
        case 1:
            return &widen_kernel<X, std::uint8_t>;
        case 2:
            return &widen_kernel<X, std::uint16_t>;
        default:
            return nullptr;
    }
}

}  // namespace

Kernel kernel_of(int bytes, Dtype sums) { return sums == kF32 ? pick<float>(bytes) : sums == kF64 ? pick<double>(bytes) : nullptr; }

}  // namespace tapline::cuda::widened_rows_pass
