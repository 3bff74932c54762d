#include "cuda/families/depthwise/row_sums.hpp"

#include <algorithm>
#include <string>

#include "cuda/engine_state.hpp"
#include "cuda/families/common/grids.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/arguments.hpp"
#include "cuda/primitives/elements.hpp"

namespace tapline::cuda {
namespace {

using cuda_abi::Code;
using cuda_abi::RowSum;
using cuda_abi::Status;
using cuda_abi::Stream;

constexpr int kThreads = 256;
constexpr std::int64_t kMostSummingBlocks = 1 << 16;

/// Columns a thread; neighbours read neighbours. Memory limits it.
template <class From, class To>
__global__ void __launch_bounds__(kThreads) sum_rows_kernel(const __grid_constant__ RowSum s) {
    using Sum = typename Element<From>::Sum;
    const auto* const from = static_cast<const From*>(s.from);
    const auto* const before = static_cast<const From*>(s.before);
    const std::int64_t stride = std::int64_t{kThreads} * gridDim.x;
    for (std::int64_t i = std::int64_t{kThreads} * blockIdx.x + threadIdx.x; i < s.count; i += stride) {
        Sum sum = Element<From>::widen(from[i]);
        if (before != nullptr) { sum = Element<From>::widen(before[i]) + sum; }
#pragma unroll 4
        for (std::int64_t row = 1; row < s.rows; ++row) { sum += Element<From>::widen(from[row * s.count + i]); }
        static_cast<To*>(s.to)[i] = Element<To>::narrow(sum);
    }
}

using SumKernel = void (*)(RowSum);

SumKernel kernel_of(const RowSum& s) {
    const auto is = [&](Dtype from, Dtype to) { return s.from_dtype == from && s.to_dtype == to; };
    if (is(kF32, kF32)) { return &sum_rows_kernel<float, float>; }
    if (is(kF64, kF64)) { return &sum_rows_kernel<double, double>; }
    if (is(kF32, kF16)) { return &sum_rows_kernel<float, __half>; }
    if (is(kF32, kBf16)) { return &sum_rows_kernel<float, __nv_bfloat16>; }
    if (is(kF16, kF32)) { return &sum_rows_kernel<__half, float>; }
    if (is(kBf16, kF32)) { return &sum_rows_kernel<__nv_bfloat16, float>; }
    return nullptr;
}

}  // namespace

bool sum_rows(std::int32_t device, const RowSum* sum, Stream* stream, Status* status) {
    return on_device(device, status, [&] {
        const SumKernel kernel = kernel_of(*sum);
        if (kernel == nullptr || sum->rows < 1 || sum->count < 1) {
            throw CudaError(Code::argument, "sum_rows: no such types, or a size that is not at least 1");
        }
        for (const void* address : {static_cast<const void*>(sum->to), sum->from}) { check_pointer("sum_rows", address, device); }
        if (sum->before != nullptr) { check_pointer("sum_rows", sum->before, device); }
        check_stream(native(stream), device);
        const std::int64_t blocks = std::min(divide_up(sum->count, kThreads), kMostSummingBlocks);
        launch_kernel(kernel, static_cast<unsigned>(blocks), kThreads, 0, native(stream), *sum);
        check_launch("sum_rows");
    });
}

}  // namespace tapline::cuda
