#include "cuda/families/common/types.hpp"

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {

Type type_of(const Problem& p, const cuda_abi::Device& device) {
    const bool complex_taps = is_complex(p.taps_dtype);
    const double f64 = 1.0 / device.single_to_double;
    switch (p.dtype) {
        case kF64:
            return {8, 8, 1, f64};
        case kComplex64:
            return {8, complex_taps ? 8 : 4, complex_taps ? 4 : 2, 1};
        case kComplex128:
            return {16, complex_taps ? 16 : 8, complex_taps ? 4 : 2, f64};
        case kF16:
        case kBf16:
            return {2, 4, 1, 1};
        case kI8:
        case kI16:
        case kI32:
        case kI64:
        case kU8:
        case kU16:
        case kU32:
        case kU64:
            if (p.taps_dtype == kI32) { return {stored_bytes(p.dtype), 4, 1, 0.5}; }
            if (p.taps_dtype == kI64) { return {stored_bytes(p.dtype), 8, 1, 0.25}; }
            [[fallthrough]];
        default:  // f32, and integers beside real taps
            return p.taps_dtype == kF64 ? Type{stored_bytes(p.dtype), 8, 1, f64} : Type{stored_bytes(p.dtype), 4, 1, 1};
    }
}

Refusal refuse_types(const Problem& p) { return is_integer(p.dtype) ? "integers are exact on the CPU only" : ""; }

}  // namespace tapline::cuda
