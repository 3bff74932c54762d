// Which element types the algorithms of the CPU engine take, and code for each of them.
#pragma once

#include "core/choice/engine.hpp"
#include "core/problem/elements.hpp"

namespace tapline::cpu {

/// For SIMD algorithms on signals.
inline core::Support supports_elements(const core::Resolved& problem) {
    if (is_integer(problem.dtype)) { return core::Support::no("it takes f32, f64, complex64 and complex128 signals"); }
    return core::Support::yes();
}

/// For exact algorithms.
inline core::Support supports_integers(const core::Resolved& problem) {
    if (problem.is_exact()) { return core::Support::yes(); }
    return core::Support::no(std::string("the signal is ") + to_string(problem.dtype) + " and the taps are " +
                             to_string(problem.taps_dtype) + ": not both integers");
}

/// f(float{}) or f(double{}), whichever is the real part of f32, f64, complex64 or complex128.
template <class F>
auto with_real_type(Dtype dtype, const F& f) {
    return core::with_type_of<float, double>(real_part_of(dtype), f);
}

/// f(T{}) for an integer dtype, std::uint8_t for bool.
template <class F>
auto with_sample_type(Dtype dtype, const F& f) {
    return core::with_integer_type(dtype,
                                   [&]<class T>(T) { return f(std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>{}); });
}

/// f(sample, tap) with values of the element types of a problem that supports_elements().
template <class F>
auto with_element_types(const core::Resolved& problem, const F& f) {
    return core::with_type_of<float, double, std::complex<float>, std::complex<double>>(problem.dtype, [&]<class X>(X x) {
        if constexpr (core::kIsComplex<X>) {
            if (problem.complex_taps) { return f(x, X{}); }
        }
        return f(x, std::real(x));
    });
}

}  // namespace tapline::cpu
