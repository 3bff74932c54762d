// What families ask of a problem's types, and kernels' instantiations by type.
#pragma once

#include "cuda/primitives/elements.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

struct Type {
    int bytes = 0;  // of a sample
    int tap_bytes = 0;
    int products = 1;  // real multiply-adds a product
    double rate = 1;   // of the f32 peak

    /// Samples of 16 bytes.
    [[nodiscard]] int per_vector() const { return 16 / bytes; }
};
Type type_of(const Problem& p, const cuda_abi::Device& device);

/// Whether there are half as many units for f64 as for f32, or so; else there are few.
inline bool has_fast_double(const cuda_abi::Device& device) { return device.single_to_double <= 4; }

/// Whether kernels read the taps in memory: rows have their own, or nobody knew them when the plan was made.
inline bool taps_in_memory(const Problem& p) { return p.filters > 1 || p.taps_come_later; }

/// The type that sums are formed in where samples are widened to it.
inline Dtype sums_of(const Problem& p) {
    if (is_integer(p.taps_dtype)) { return p.taps_dtype; }
    return is_complex(p.dtype) ? p.dtype : p.taps_dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
}

/// Integers are the CPU's.
Refusal refuse_types(const Problem& p);

template <class T>
struct ElementType {
    using Type = T;
};

/// body(ElementType<S>) with the type of samples; of integers what such a body returns by default.
template <class Body>
auto with_sample_type(Dtype dtype, const Body& body) -> decltype(body(ElementType<float>{})) {
    switch (dtype) {
        case Dtype::f32:
            return body(ElementType<float>{});
        case Dtype::f64:
            return body(ElementType<double>{});
        case Dtype::f16:
            return body(ElementType<__half>{});
        case Dtype::bf16:
            return body(ElementType<__nv_bfloat16>{});
        case Dtype::complex64:
            return body(ElementType<float2>{});
        case Dtype::complex128:
            return body(ElementType<double2>{});
        default:
            return {};
    }
}

/// body(ElementType<S>, ElementType<H>) with the types of samples and taps.
template <class Body>
auto with_types(Dtype dtype, Dtype taps_dtype, const Body& body) -> decltype(body(ElementType<float>{}, ElementType<float>{})) {
    switch (dtype) {
        case Dtype::f32:
            return body(ElementType<float>{}, ElementType<float>{});
        case Dtype::f64:
            return body(ElementType<double>{}, ElementType<double>{});
        case Dtype::f16:
            return body(ElementType<__half>{}, ElementType<float>{});
        case Dtype::bf16:
            return body(ElementType<__nv_bfloat16>{}, ElementType<float>{});
        case Dtype::complex64:
            return is_complex(taps_dtype) ? body(ElementType<float2>{}, ElementType<float2>{})
                                          : body(ElementType<float2>{}, ElementType<float>{});
        case Dtype::complex128:
            return is_complex(taps_dtype) ? body(ElementType<double2>{}, ElementType<double2>{})
                                          : body(ElementType<double2>{}, ElementType<double>{});
        default:
            return {};
    }
}

}  // namespace tapline::cuda
