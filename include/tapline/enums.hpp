// The library's enums: element types, modes, boundaries, accuracy. Nothing of the standard library: all CUDA code reads it.
#pragma once

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

TAPLINE_EXPORT bool is_complex(Dtype dtype) noexcept;  ///< complex64 and complex128
/// bool and the integers.
TAPLINE_EXPORT bool is_integer(Dtype dtype) noexcept;

}  // namespace tapline
