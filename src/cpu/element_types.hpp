// Which element types the algorithms of the CPU engine take, and code for each of them.
#pragma once

#include <complex>
#include <type_traits>

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// For SIMD algorithms on signals.
inline core::Support supports_elements(const core::Resolved& problem) {
    if (is_integer(problem.dtype)) { return core::Support::no("it takes f32, f64, complex64 and complex128 signals"); }
    return core::Support::yes();
}

/// For SIMD algorithms on images, whose integers are widened to f32 as they are loaded.
inline core::Support supports_pixels(const core::Resolved& problem) {
    const bool narrow = problem.dtype == Dtype::u8 || problem.dtype == Dtype::u16;
    if (is_integer(problem.dtype) && !(narrow && problem.sum_dtype == Dtype::f32)) {
        return core::Support::no("it takes f32, f64, complex64 and complex128 images, u8 and u16 with taps of f32");
    }
    if (!problem.has_packed_pixels()) { return core::Support::no("the pixels of a row do not lie side by side"); }
    return core::Support::yes();
}

/// f(float{}) or f(double{}), whichever is the real part of f32, f64, complex64 or complex128.
template <class F>
auto with_real_type(Dtype dtype, const F& f) {
    return real_part_of(dtype) == Dtype::f32 ? f(float{}) : f(double{});
}

/// f(sample, tap) with values of the element types of a problem that supports_elements().
template <class F>
auto with_element_types(const core::Resolved& problem, const F& f) {
    using C64 = std::complex<float>;
    using C128 = std::complex<double>;
    switch (problem.dtype) {
        case Dtype::f32:
            return f(float{}, float{});
        case Dtype::f64:
            return f(double{}, double{});
        case Dtype::complex64:
            return problem.complex_taps ? f(C64{}, C64{}) : f(C64{}, float{});
        default:
            return problem.complex_taps ? f(C128{}, C128{}) : f(C128{}, double{});
    }
}

/// f(T{}) for the C++ type of an integer dtype, bool for Dtype::boolean.
template <class F>
auto with_integer_type(Dtype dtype, const F& f) {
    switch (dtype) {
        case Dtype::i8:
            return f(std::int8_t{});
        case Dtype::i16:
            return f(std::int16_t{});
        case Dtype::i32:
            return f(std::int32_t{});
        case Dtype::i64:
            return f(std::int64_t{});
        case Dtype::u8:
            return f(std::uint8_t{});
        case Dtype::u16:
            return f(std::uint16_t{});
        case Dtype::u32:
            return f(std::uint32_t{});
        case Dtype::u64:
            return f(std::uint64_t{});
        default:
            return f(bool{});
    }
}

}  // namespace tapline::cpu
