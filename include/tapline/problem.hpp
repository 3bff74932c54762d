// The one problem that every call is turned into. A value without pointers.
#pragma once

#include "tapline/types.hpp"

namespace tapline {

/// A signal whose length is not known yet: accepted by Stream only.
inline constexpr std::int64_t kUnknownLength = -1;

/// output[o] = cast(clamp(scale * sum_{t=0}^{k-1} taps[t] * x(o + t - origin) + bias)), 0 <= o < output_length,
/// for every row of the batch, where x() is the row extended past its ends by the boundary rule. Convolution uses the
/// taps in reverse, correlation as they are (complex taps conjugated).
///
/// Strides count elements, not bytes, and must be positive; 0 asks for the default named beside it.
struct Problem {
    std::int64_t length = 0;  ///< n, samples of one signal, at least 1
    std::int64_t taps = 0;    ///< k, coefficients of one filter, at least 1
    std::int64_t batch = 1;   ///< independent rows, at least 1
    Filters filters = Filters::shared;
    Mode mode = Mode::full;
    Boundary boundary = Boundary::zero;
    std::complex<double> constant = 0;                  ///< for Boundary::constant; may be NaN
    std::optional<std::int64_t> origin = std::nullopt;  ///< which tap sits on the output, after any reversal; default: the mode's
    Operation operation = Operation::convolution;
    Dtype dtype = Dtype::f32;                          ///< of the signal; f16 and bf16 on a GPU only, with sums in f32
    bool complex_taps = false;                         ///< complex taps; needs a complex dtype
    std::optional<Dtype> output_dtype = std::nullopt;  ///< default: dtype, i64 for integers. Other real types: a saturating cast
    double scale = 1;                                  ///< finite or infinite, not NaN
    double bias = 0;                                   ///< added to the real part; not NaN
    std::optional<Clamp> clamp = std::nullopt;         ///< real dtypes only
    Overflow overflow = Overflow::error;               ///< for an integer dtype
    std::int64_t input_row_stride = 0;                 ///< default: length * input_sample_stride
    std::int64_t input_sample_stride = 0;              ///< default: 1
    std::int64_t output_row_stride = 0;                ///< default: output length * output_sample_stride
    std::int64_t output_sample_stride = 0;             ///< default: 1
    std::int64_t taps_row_stride = 0;                  ///< default: taps; used by Filters::per_row
    std::int64_t filter_count = 0;                     ///< default: batch; of Filters::per_row: row r has filter r % filter_count
    std::int64_t up = 1;                               ///< reserved, 1
    std::int64_t down = 1;                             ///< reserved, 1
    std::int64_t dilation = 1;                         ///< reserved, 1
};

/// The output length of the problem: n+k-1, n or n-k+1. Throws Error if the problem is not valid.
TAPLINE_EXPORT std::int64_t output_length(const Problem& problem);

/// The origin of the problem. Throws Error if the problem is not valid.
TAPLINE_EXPORT std::int64_t origin(const Problem& problem);

/// The element type of the output.
TAPLINE_EXPORT Dtype output_dtype(const Problem& problem) noexcept;

/// The element type of the taps: complex for complex_taps, else the real type of dtype; f32 for f16 and bf16; i64 for an
/// integer dtype (u64 for u64).
TAPLINE_EXPORT Dtype taps_dtype(const Problem& problem) noexcept;

/// Throws Error with the first reason why the problem cannot be solved; returns if it can.
TAPLINE_EXPORT void validate(const Problem& problem);

/// Elements that the input, output and taps buffers must hold, from their first element to their last.
TAPLINE_EXPORT std::int64_t input_extent(const Problem& problem);
TAPLINE_EXPORT std::int64_t output_extent(const Problem& problem);
TAPLINE_EXPORT std::int64_t taps_extent(const Problem& problem);

}  // namespace tapline
