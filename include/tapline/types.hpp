// The small vocabulary of the library: enums.hpp, their names, the element types of C++.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tapline/enums.hpp"

namespace tapline {

/// Limits of the output, applied after scale and bias. NaN passes. Infinite limits are allowed, NaN limits are not.
struct Clamp {
    double low;                                                    ///< below it results become it; at most high
    double high;                                                   ///< above it results become it
    friend bool operator==(const Clamp&, const Clamp&) = default;  ///< both limits are the same
};

/// Bytes of one element.
TAPLINE_EXPORT std::size_t size_of(Dtype dtype) noexcept;
/// f32 for complex64, f64 for complex128, otherwise the type itself.
TAPLINE_EXPORT Dtype real_part_of(Dtype dtype) noexcept;

TAPLINE_EXPORT const char* to_string(Dtype dtype) noexcept;          ///< "f32", "complex64", "u8", ...
TAPLINE_EXPORT const char* to_string(Mode mode) noexcept;            ///< "full", "same", ...
TAPLINE_EXPORT const char* to_string(Boundary boundary) noexcept;    ///< "zero", "reflect", ...
TAPLINE_EXPORT const char* to_string(Operation operation) noexcept;  ///< "convolution" or "correlation"
TAPLINE_EXPORT const char* to_string(Filters filters) noexcept;      ///< "shared" or "per_row"
TAPLINE_EXPORT const char* to_string(Accuracy accuracy) noexcept;    ///< "standard", "strict" or "fast"

/// The inverse of to_string; nothing for an unknown name. Dtypes also answer to NumPy's names ("float32", "uint8").
TAPLINE_EXPORT std::optional<Dtype> dtype_from_string(std::string_view name) noexcept;
TAPLINE_EXPORT std::optional<Mode> mode_from_string(std::string_view name) noexcept;          ///< "same" gives Mode::same
TAPLINE_EXPORT std::optional<Boundary> boundary_from_string(std::string_view name) noexcept;  ///< "wrap" gives Boundary::wrap
TAPLINE_EXPORT std::optional<Accuracy> accuracy_from_string(std::string_view name) noexcept;  ///< "strict" gives Accuracy::strict

/// The Dtype of a C++ type: `dtype_of<float>` is Dtype::f32.
template <class T>
struct DtypeOf;
// clang-format off
template <> struct DtypeOf<float> { static constexpr Dtype value = Dtype::f32; };
template <> struct DtypeOf<double> { static constexpr Dtype value = Dtype::f64; };
template <> struct DtypeOf<std::complex<float>> { static constexpr Dtype value = Dtype::complex64; };
template <> struct DtypeOf<std::complex<double>> { static constexpr Dtype value = Dtype::complex128; };
template <> struct DtypeOf<bool> { static constexpr Dtype value = Dtype::boolean; };
template <> struct DtypeOf<std::int8_t> { static constexpr Dtype value = Dtype::i8; };
template <> struct DtypeOf<std::int16_t> { static constexpr Dtype value = Dtype::i16; };
template <> struct DtypeOf<std::int32_t> { static constexpr Dtype value = Dtype::i32; };
template <> struct DtypeOf<std::int64_t> { static constexpr Dtype value = Dtype::i64; };
template <> struct DtypeOf<std::uint8_t> { static constexpr Dtype value = Dtype::u8; };
template <> struct DtypeOf<std::uint16_t> { static constexpr Dtype value = Dtype::u16; };
template <> struct DtypeOf<std::uint32_t> { static constexpr Dtype value = Dtype::u32; };
template <> struct DtypeOf<std::uint64_t> { static constexpr Dtype value = Dtype::u64; };
// clang-format on
/// DtypeOf<T>::value.
template <class T>
inline constexpr Dtype dtype_of = DtypeOf<T>::value;

/// A C++ type that has a Dtype.
template <class T>
concept Element = requires {
    DtypeOf<T>::value;
};

}  // namespace tapline
