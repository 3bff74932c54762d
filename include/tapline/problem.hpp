// The one problem that every call is turned into: signals, images and volumes. A value without pointers.
#pragma once

#include <array>
#include <initializer_list>

#include "tapline/error.hpp"
#include "tapline/types.hpp"

namespace tapline {

/// A signal whose length is not known yet: accepted by Stream only.
inline constexpr std::int64_t kUnknownLength = -1;

/// Up to N values in order. Throws Error (argument) if it is given more.
template <class T, std::size_t N>
class UpTo {
public:
    constexpr UpTo() = default;
    /// Throws Error for more than N.
    constexpr UpTo(std::initializer_list<T> values) {
        for (const T& value : values) { push_back(value); }
    }
    /// Throws Error if N are there.
    constexpr void push_back(const T& value) {
        if (size_ == N) { throw Error(ErrorCode::argument, "axes: more than " + std::to_string(N) + " of one kind"); }
        values_[size_++] = value;
    }
    [[nodiscard]] static constexpr std::size_t capacity() noexcept { return N; }                      ///< N
    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }                       ///< values that are there
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }                        ///< none is there
    [[nodiscard]] constexpr T& operator[](std::size_t i) noexcept { return values_[i]; }              ///< i < size()
    [[nodiscard]] constexpr const T& operator[](std::size_t i) const noexcept { return values_[i]; }  ///< i < size()
    [[nodiscard]] constexpr T* begin() noexcept { return values_.data(); }                            ///< the first
    [[nodiscard]] constexpr T* end() noexcept { return values_.data() + size_; }                      ///< past the last
    [[nodiscard]] constexpr const T* begin() const noexcept { return values_.data(); }                ///< the first
    [[nodiscard]] constexpr const T* end() const noexcept { return values_.data() + size_; }          ///< past the last

private:
    std::array<T, N> values_{};
    std::size_t size_ = 0;
};

/// An axis along which the sum runs. Strides count elements, not bytes.
struct FilteredAxis {
    std::int64_t length = 0;                                   ///< n, samples, at least 1
    std::int64_t taps = 0;                                     ///< k, coefficients, at least 1
    std::optional<Mode> mode = std::nullopt;                   ///< default: the problem's
    std::optional<Boundary> boundary = std::nullopt;           ///< default: the problem's
    std::optional<std::int64_t> origin = std::nullopt;         ///< which tap sits on the output; default: the mode's
    std::optional<std::int64_t> input_stride = std::nullopt;   ///< any; negative for a reversed view; default: packed
    std::optional<std::int64_t> output_stride = std::nullopt;  ///< not 0; default: packed
    std::int64_t up = 1;                                       ///< up - 1 zeros are put behind every sample; at least 1
    std::int64_t down = 1;                                     ///< of the outputs every down-th is made; at least 1
    std::int64_t dilation = 1;                                 ///< positions from one tap to the next; at least 1
};

/// An axis of independent signals, images or volumes. Strides count elements, not bytes.
struct BatchAxis {
    std::int64_t length = 1;                                   ///< at least 1
    std::optional<std::int64_t> input_stride = std::nullopt;   ///< any; 0: all read the same signal; default: packed
    std::optional<std::int64_t> output_stride = std::nullopt;  ///< not 0; default: packed
    std::int64_t taps_stride = 0;                              ///< from one filter to the next, 0: all share one; not negative
};

/// output[o] = cast(clamp(scale * sum_{t=0}^{k-1} taps[t] * x(o + t - origin) + bias)), 0 <= o < output_length,
/// where x() is the signal extended past its ends by the boundary rule. Convolution uses the taps in reverse, correlation as they
/// are (complex taps conjugated).
///
/// With several filtered axes the sum runs over all of them, o, t and origin have a part for each, and the filter is an array of
/// one coefficient for each combination of taps, packed, the last axis fastest. On an axis with up, down and dilation
///
///     output[o] = sum_t taps[t] * u(o * down + t * dilation - origin),   u(p) = x(p / up) where up divides p, else no term,
///
/// so that modes count positions of u: a filter covers (k - 1) * dilation + 1 of them, a signal (n - 1) * up + 1 in modes full
/// and valid, n * up in the others, and the number of outputs is divided by down, rounded up.
///
/// A signal is written with length, taps and batch: `Problem{.length = n, .taps = k}`. Images and volumes are written as
/// ImageProblem and VolumeProblem, which turn into a Problem; anything else with `axes` and `batch_axes`. What is not given a
/// stride is packed: batch axes outermost, in order, then filtered axes; the last one fastest; each steps over all that lies inside
/// it.
struct Problem {
    std::int64_t length = 0;                            ///< n, samples of one signal, at least 1
    std::int64_t taps = 0;                              ///< k, coefficients of one filter, at least 1
    std::int64_t batch = 1;                             ///< independent rows, at least 1
    Filters filters = Filters::shared;                  ///< one filter, or one a row
    Mode mode = Mode::full;                             ///< which outputs are computed
    Boundary boundary = Boundary::zero;                 ///< what lies beyond the ends
    std::complex<double> constant = 0;                  ///< for Boundary::constant; may be NaN
    std::optional<std::int64_t> origin = std::nullopt;  ///< which tap sits on the output, after any reversal; default: the mode's
    Operation operation = Operation::convolution;       ///< whether the taps are reversed
    Dtype dtype = Dtype::f32;                           ///< of the signal; f16, bf16: sums in f32, on a CPU with one filter
    bool complex_taps = false;                          ///< complex taps; needs a complex dtype
    std::optional<Dtype> output_dtype = std::nullopt;   ///< default: dtype, i64 for exact integers. Else a saturating cast
    double scale = 1;                                   ///< finite or infinite, not NaN
    double bias = 0;                                    ///< added to the real part; not NaN
    std::optional<Clamp> clamp = std::nullopt;          ///< real dtypes only
    Overflow overflow = Overflow::error;                ///< for exact integers; truncate is for others
    std::optional<std::int64_t> input_row_stride = std::nullopt;      ///< default: length * input_sample_stride
    std::optional<std::int64_t> input_sample_stride = std::nullopt;   ///< default: 1
    std::optional<std::int64_t> output_row_stride = std::nullopt;     ///< default: output length * output_sample_stride
    std::optional<std::int64_t> output_sample_stride = std::nullopt;  ///< default: 1
    std::optional<std::int64_t> taps_row_stride = std::nullopt;       ///< default: taps; used by Filters::per_row
    std::int64_t filter_count = 0;  ///< default: batch; of Filters::per_row: row r has filter r % filter_count
    std::int64_t up = 1;            ///< as of FilteredAxis
    std::int64_t down = 1;          ///< as of FilteredAxis
    std::int64_t dilation = 1;      ///< as of FilteredAxis
    /// Beside a signal of integers: f32 or f64 for real taps, whose sums are formed in that type, so that the result is not exact.
    /// Default: taps_dtype(problem).
    std::optional<Dtype> real_taps = std::nullopt;
    /// One to three filtered axes, the outermost first, in place of length, taps, origin, up, down, dilation and sample strides.
    UpTo<FilteredAxis, 3> axes = {};
    /// Up to four batch axes, the outermost first, in place of batch, filters, filter_count and row strides.
    UpTo<BatchAxis, 4> batch_axes = {};
};

/// Outputs along the only filtered axis, or the last of several: n+k-1, n or n-k+1. Throws Error if the problem is not valid.
TAPLINE_EXPORT std::int64_t output_length(const Problem& problem);

/// Outputs along each filtered axis, the outermost first.
TAPLINE_EXPORT UpTo<std::int64_t, 3> output_shape(const Problem& problem);

/// The origin on each filtered axis, the outermost first. Throws Error if the problem is not valid.
TAPLINE_EXPORT UpTo<std::int64_t, 3> origins(const Problem& problem);

/// The origin on the only filtered axis, or the last of several.
TAPLINE_EXPORT std::int64_t origin(const Problem& problem);

/// The element type of the output.
TAPLINE_EXPORT Dtype output_dtype(const Problem& problem) noexcept;

/// The element type of the taps: complex for complex_taps, else the real type of dtype; f32 for f16 and bf16; real_taps or else i64
/// for an integer dtype (u64 for u64).
TAPLINE_EXPORT Dtype taps_dtype(const Problem& problem) noexcept;

/// Throws Error with the first reason why the problem cannot be solved; returns if it can.
TAPLINE_EXPORT void validate(const Problem& problem);

/// Elements that the input, output and taps buffers must hold, from the one at the lowest address to the one at the highest.
TAPLINE_EXPORT std::int64_t input_extent(const Problem& problem);
TAPLINE_EXPORT std::int64_t output_extent(const Problem& problem);  ///< the output's; throws Error if the problem is not valid
TAPLINE_EXPORT std::int64_t taps_extent(const Problem& problem);    ///< the taps'; throws Error if the problem is not valid

/// Where in such a buffer the first sample and the first output lie: 0 unless a stride is negative. Plan::execute takes their
/// addresses.
TAPLINE_EXPORT std::int64_t input_start(const Problem& problem);
TAPLINE_EXPORT std::int64_t output_start(const Problem& problem);  ///< the first output; throws Error if the problem is not valid

}  // namespace tapline
