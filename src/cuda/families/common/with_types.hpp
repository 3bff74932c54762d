// Element types where code runs that knows them as Dtype: kernels' instantiations, and what depends on a type.
#pragma once

#include "cuda/primitives/elements.hpp"
#include "tapline/enums.hpp"

namespace tapline::cuda {

template <class T>
struct ElementType {
    using Type = T;
};

/// body(ElementType<S>) with the type of samples; of integers what such a body returns by default.
template <class Body>
auto with_sample_type(Dtype dtype, const Body& body) {
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
            return decltype(body(ElementType<float>{}))();
    }
}

/// The same with the type of taps or sums, none of which has 16 bits.
template <class Body>
auto with_sum_type(Dtype dtype, const Body& body) {
    using Result = decltype(body(ElementType<float>{}));
    return with_sample_type(dtype, [&]<class S>(ElementType<S> type) -> Result {
        if constexpr (sizeof(S) >= 4) { return body(type); }
        return Result();
    });
}

/// The same with the type of samples whose sums are f32.
template <class Body>
auto with_float_sums(Dtype dtype, const Body& body) {
    using Result = decltype(body(ElementType<float>{}));
    return with_sample_type(dtype, [&]<class S>(ElementType<S> type) -> Result {
        if constexpr (std::is_same_v<typename Element<S>::Sum, float>) { return body(type); }
        return Result();
    });
}

/// body(ElementType<S>, ElementType<H>) with the types of samples and taps.
template <class Body>
auto with_types(Dtype dtype, Dtype taps_dtype, const Body& body) {
    return with_sample_type(dtype, [&]<class S>(ElementType<S> samples) {
        using Real = typename Element<S>::Real;
        if constexpr (kIsComplexElement<S>) {
            if (is_complex(taps_dtype)) { return body(samples, samples); }
        }
        return body(samples, ElementType<Real>{});
    });
}

/// The same with the types of sums and taps, which are the same of integers.
template <class Body>
auto with_sums_and_taps(Dtype sum_dtype, Dtype taps_dtype, const Body& body) {
    using Result = decltype(body(ElementType<float>{}, ElementType<float>{}));
    switch (sum_dtype) {
        case Dtype::i32:
            return body(ElementType<std::int32_t>{}, ElementType<std::int32_t>{});
        case Dtype::i64:
            return body(ElementType<std::int64_t>{}, ElementType<std::int64_t>{});
        default:
            return with_types(sum_dtype, taps_dtype, [&]<class X, class H>(ElementType<X> sums, ElementType<H> taps) -> Result {
                if constexpr (sizeof(X) >= 4) { return body(sums, taps); }
                return Result();
            });
    }
}

/// body(ElementType<T>) with an integer type; a bool is a byte.
template <class Body>
auto with_integer_type(Dtype dtype, const Body& body) {
    switch (dtype) {
        case Dtype::i8:
            return body(ElementType<std::int8_t>{});
        case Dtype::i16:
            return body(ElementType<std::int16_t>{});
        case Dtype::i32:
            return body(ElementType<std::int32_t>{});
        case Dtype::i64:
            return body(ElementType<std::int64_t>{});
        case Dtype::boolean:
        case Dtype::u8:
            return body(ElementType<std::uint8_t>{});
        case Dtype::u16:
            return body(ElementType<std::uint16_t>{});
        case Dtype::u32:
            return body(ElementType<std::uint32_t>{});
        case Dtype::u64:
            return body(ElementType<std::uint64_t>{});
        default:
            return decltype(body(ElementType<std::uint8_t>{}))();
    }
}

}  // namespace tapline::cuda
