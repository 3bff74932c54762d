#include "cuda/families/integer/integer_any.cuh"

namespace tapline::cuda::integer {
namespace {

/// body(T()) with the C++ type of an integer type of samples.
template <class Body>
AnyKernel with_integer(Dtype dtype, const Body& body) {
    switch (dtype) {
        case kI8:
            return body(std::int8_t{});
        case kI16:
            return body(std::int16_t{});
        case kI32:
            return body(std::int32_t{});
        case kI64:
        case kU64:  // the same bits, multiplied as Any::wholes says
            return body(std::int64_t{});
        case kU16:
            return body(std::uint16_t{});
        case kU32:
            return body(std::uint32_t{});
        case kU8:
        case kBoolean:
            return body(std::uint8_t{});
        default:
            return nullptr;
    }
}

}  // namespace

AnyKernel any_kernel(Dtype dtype, int sum_bits) {
    return with_integer(dtype, [&]<class T>(T /*type*/) -> AnyKernel {
        return sum_bits == 64 ? &any_sums_kernel<T, Narrow> : &any_sums_kernel<T, Exact>;
    });
}

AnyKernel found_kernel(Dtype dtype) {
    return with_integer(dtype, []<class T>(T /*type*/) -> AnyKernel { return &found_sum_kernel<T>; });
}

ClearKernel clear_kernel() { return &nothing_found_kernel; }

}  // namespace tapline::cuda::integer
