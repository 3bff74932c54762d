// The largest magnitude among samples.
#include "cuda/families/common/walk.cuh"
#include "cuda/families/integer/integer_signal.cuh"
#include "cuda/families/integer/passes/integer_checked.hpp"

namespace tapline::cuda::integer {
namespace {

__global__ void __launch_bounds__(kPassThreads) largest_sample_kernel(const __grid_constant__ Largest g) {
    const bool is_unsigned = g.signal.in_signed == 0;
    unsigned long long largest = 0;
    for_each_element(g.walk.count, [&](std::int64_t number) {
        const std::int64_t x = load_integer(g.signal, place_of(g.walk, number).at);
        const auto bits = static_cast<unsigned long long>(x);
        largest = max(largest, is_unsigned || x >= 0 ? bits : 0 - bits);
    });
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) { largest = max(largest, __shfl_xor_sync(0xffffffffU, largest, lanes)); }
    if (threadIdx.x % 32 == 0 && largest > g.found->largest) { atomicMax(&g.found->largest, largest); }
}

}  // namespace

LargestKernel largest_kernel() { return &largest_sample_kernel; }

}  // namespace tapline::cuda::integer
