#include "cuda/families/integer/integer_any.cuh"

#include "cuda/families/common/with_types.hpp"

namespace tapline::cuda::integer {
namespace {

/// Of u64 the same bits, multiplied as Any::wholes says.
template <class T>
using Multiplied = std::conditional_t<std::is_same_v<T, std::uint64_t>, std::int64_t, T>;

}  // namespace

AnyKernel any_kernel(Dtype dtype, int sum_bits) {
    return with_integer_type(dtype, [&]<class T>(ElementType<T>) -> AnyKernel {
        return sum_bits == 64 ? &any_sums_kernel<Multiplied<T>, Narrow> : &any_sums_kernel<Multiplied<T>, Exact>;
    });
}

AnyKernel found_kernel(Dtype dtype) {
    return with_integer_type(dtype, []<class T>(ElementType<T>) -> AnyKernel { return &found_sum_kernel<Multiplied<T>>; });
}

ClearKernel clear_kernel() { return &nothing_found_kernel; }

}  // namespace tapline::cuda::integer
