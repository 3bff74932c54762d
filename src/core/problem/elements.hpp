// The C++ type of an element type that is known at run time only.
#pragma once

#include <complex>
#include <cstdint>

#include "tapline/types.hpp"

namespace tapline::core {

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

inline bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

/// f(T{}) for that T of several which has the dtype; the last one stands for every other dtype.
template <class First, class... Rest, class F>
auto with_type_of(Dtype dtype, const F& f) {
    if constexpr (sizeof...(Rest) > 0) {
        if (dtype != dtype_of<First>) { return with_type_of<Rest...>(dtype, f); }
    }
    return f(First{});
}

/// f(T{}) for bool and the integers.
template <class F>
auto with_integer_type(Dtype dtype, const F& f) {
    return with_type_of<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                        std::uint64_t, bool>(dtype, f);
}

/// each(T); for every integer type: explicit instantiations.
#define TAPLINE_FOR_INTEGERS(each) \
    each(std::int8_t);             \
    each(std::int16_t);            \
    each(std::int32_t);            \
    each(std::int64_t);            \
    each(std::uint8_t);            \
    each(std::uint16_t);           \
    each(std::uint32_t);           \
    each(std::uint64_t)

/// f(T{}) for every dtype but the 16-bit floating ones, which have no type in C++.
template <class F>
auto with_type(Dtype dtype, const F& f) {
    if (is_integer(dtype)) { return with_integer_type(dtype, f); }
    return with_type_of<float, double, std::complex<float>, std::complex<double>>(dtype, f);
}

/// A number as an element, which may lack an imaginary part.
template <class T>
T element_of(const std::complex<double>& value) {
    if constexpr (kIsComplex<T>) {
        return T(value);
    } else {
        return static_cast<T>(value.real());
    }
}

}  // namespace tapline::core
