// The small vocabulary of the library: element types, modes, boundaries, accuracy.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tapline/export.hpp"

namespace tapline {

/// Element types. Complex elements are (real, imaginary) pairs, as std::complex stores them; `boolean` is one byte, 0 or 1.
enum class Dtype { f32, f64, complex64, complex128, boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16 };

/// Presets of (origin, output length) in `output[o] = sum_t taps[t] * x(o + t - origin)`; n = length, k = taps.
enum class Mode {
    full,     ///< origin k-1, n+k-1 outputs
    same,     ///< origin k/2 (integer division), n outputs
    valid,    ///< origin 0, n-k+1 outputs: only fully overlapping ones
    causal,   ///< origin k-1, n outputs: output i reads inputs up to i
    leading,  ///< origin 0, n outputs: output i starts at input i
};

/// What x() is outside the signal `a b c d`. Names are those of scipy.ndimage.
enum class Boundary {
    zero,      ///< 0 0 | a b c d | 0 0; the terms are absent, not multiplied
    constant,  ///< c c | a b c d | c c
    nearest,   ///< a a | a b c d | d d
    reflect,   ///< b a | a b c d | d c (numpy.pad: symmetric)
    mirror,    ///< c b | a b c d | c b (numpy.pad: reflect)
    wrap,      ///< c d | a b c d | a b
};

/// Convolution reverses the taps; correlation does not, and conjugates complex taps.
enum class Operation { convolution, correlation };

/// One filter for every row of a batch, or one filter a row (depthwise).
enum class Filters { shared, per_row };

/// How exact a result must be; docs/numerics.md has the bounds.
enum class Accuracy {
    standard,  ///< L2 error at most 1e-6 (f32) or 1e-14 (f64) times sum|taps| times the L2 norm of the input read
    strict,    ///< elementwise (k+2) eps sum|taps||x|: direct sums, or checked transforms
    fast,      ///< 1e-3, where an engine has something faster; else as standard
};

/// How much work choosing an algorithm may be.
enum class Effort {
    estimate,  ///< the cost model
    measure,   ///< time the candidates on this machine
};

/// What an integer result that does not fit its type does.
enum class Overflow {
    error,     ///< throws Error (ErrorCode::argument)
    wrap,      ///< keeps the low bits, as NumPy does
    truncate,  ///< of real taps beside integer outputs, on a CPU and a GPU: sums lose their fraction and keep their low bits, as a
               ///< C cast does
};

/// Limits of the output, applied after scale and bias. NaN passes. Infinite limits are allowed, NaN limits are not.
struct Clamp {
    double low;                                                    ///< below it results become it; at most high
    double high;                                                   ///< above it results become it
    friend bool operator==(const Clamp&, const Clamp&) = default;  ///< both limits are the same
};

/// Bytes of one element.
TAPLINE_EXPORT std::size_t size_of(Dtype dtype) noexcept;
TAPLINE_EXPORT bool is_complex(Dtype dtype) noexcept;  ///< complex64 and complex128
/// bool and the integers.
TAPLINE_EXPORT bool is_integer(Dtype dtype) noexcept;
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
