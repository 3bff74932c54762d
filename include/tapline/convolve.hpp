// One-call functions: numpy.convolve and numpy.correlate with modes, boundaries and an epilogue.
#pragma once

#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "tapline/plan.hpp"

namespace tapline {

/// How one call differs from numpy.convolve(signal, taps).
struct ConvolveOptions {
    Mode mode = Mode::full;                             ///< which outputs are computed
    Boundary boundary = Boundary::zero;                 ///< what lies beyond the ends
    std::complex<double> constant = 0;                  ///< for Boundary::constant; may be NaN
    std::optional<std::int64_t> origin = std::nullopt;  ///< which tap sits on the output, after any reversal; default: the mode's
    double scale = 1;                                   ///< the result is scale * sum + bias; not NaN
    double bias = 0;                                    ///< added to the real part; not NaN
    std::optional<Clamp> clamp = std::nullopt;          ///< limits of the result; real types only
    Overflow overflow = Overflow::error;                ///< for exact integers
    std::string device = "auto";                        ///< as of PlanOptions; buffers are in host memory
    Accuracy accuracy = Accuracy::standard;             ///< how exact the result must be
    int threads = 0;                                    ///< CPU threads; 0: all that the process may run on
};

namespace detail {

template <class R>
using ElementOf = std::remove_cv_t<std::ranges::range_value_t<R>>;

/// A contiguous range of elements: std::vector (not of bool), std::array, std::span.
template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && Element<ElementOf<R>>;

template <class T>
struct RealOf {
    using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
    using type = T;
};
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, typename RealOf<T>::type>;

// The type in which a product is formed: integers stay integers; an integer beside a floating type takes f32 if it has at
// most 16 bits, else f64; the wider of two floating types wins; complex if either is.
template <class S, class T>
struct Promote {
    using SR = typename RealOf<S>::type;
    using TR = typename RealOf<T>::type;
    static constexpr bool kIntegers = std::is_integral_v<S> && std::is_integral_v<T>;
    template <class A>
    using Floating = std::conditional_t<std::is_floating_point_v<A>, A, std::conditional_t<(sizeof(A) <= 2), float, double>>;
    using Real = std::conditional_t<(sizeof(Floating<SR>) > sizeof(Floating<TR>)), Floating<SR>, Floating<TR>>;
    // The signal's type, the taps' type and the result's type in the problem.
    using Signal = std::conditional_t<kIntegers, S, std::conditional_t<kIsComplex<S> || kIsComplex<T>, std::complex<Real>, Real>>;
    using Taps = std::conditional_t<kIntegers, std::conditional_t<std::is_same_v<S, std::uint64_t>, std::uint64_t, std::int64_t>,
                                    std::conditional_t<kIsComplex<T>, std::complex<Real>, Real>>;
    using Result = std::conditional_t<kIntegers, std::int64_t, Signal>;
};

/// `source` itself if it has the wanted type, else a converted copy.
template <class To, class From>
class Converted {
public:
    explicit Converted(std::span<const From> source) : size_(source.size()) {
        if constexpr (std::is_same_v<To, From>) {
            data_ = source.data();
        } else {
            copy_.reset(new To[source.size()]);
            for (std::size_t i = 0; i < source.size(); ++i) { copy_[i] = convert(source[i]); }
            data_ = copy_.get();
        }
    }
    [[nodiscard]] const To* data() const { return data_; }
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(size_); }

private:
    static To convert(const From& value) {
        if constexpr (kIsComplex<To> && kIsComplex<From>) {
            using R = typename RealOf<To>::type;
            return To(static_cast<R>(value.real()), static_cast<R>(value.imag()));
        } else if constexpr (kIsComplex<To>) {
            return To(static_cast<typename RealOf<To>::type>(value));
        } else {
            return static_cast<To>(value);
        }
    }
    std::unique_ptr<To[]> copy_;
    const To* data_ = nullptr;
    std::size_t size_ = 0;
};

// A tap that does not fit the taps' type (u64 above i64's range beside a signed signal) is an error, never a wrapped value.
TAPLINE_EXPORT void check_tap_range(const std::uint64_t* taps, std::int64_t count);
TAPLINE_EXPORT void check_signed_taps(const std::int64_t* taps, std::int64_t count);

/// Whether two stretches of memory hold the same bytes; long ones are compared by several threads.
TAPLINE_EXPORT bool same_bytes(const void* a, const void* b, std::size_t bytes);

/// Solves the problem of one call; buffers as for Plan::execute_host, `out_size` in elements.
TAPLINE_EXPORT void convolve_once(void* out, std::int64_t out_size, const void* signal, const void* taps, const Problem& problem,
                                  const PlanOptions& options);

inline Problem problem_of(std::int64_t length, std::int64_t taps, Operation operation, const ConvolveOptions& options) {
    Problem problem;
    problem.length = length;
    problem.taps = taps;
    problem.mode = options.mode;
    problem.boundary = options.boundary;
    problem.constant = options.constant;
    problem.origin = options.origin;
    problem.operation = operation;
    problem.scale = options.scale;
    problem.bias = options.bias;
    problem.clamp = options.clamp;
    problem.overflow = options.overflow;
    return problem;
}

template <class Out, class S, class T>
void convolve_into(Out* out, std::int64_t out_size, std::span<const S> signal, std::span<const T> taps, const Problem& shape,
                   const ConvolveOptions& options) {
    using P = Promote<S, T>;
    if constexpr (P::kIntegers && std::is_same_v<T, std::uint64_t> && !std::is_same_v<S, std::uint64_t>) {
        check_tap_range(taps.data(), static_cast<std::int64_t>(taps.size()));
    }
    if constexpr (P::kIntegers && std::is_same_v<S, std::uint64_t> && std::is_signed_v<T>) {
        const Converted<std::int64_t, T> wide(taps);
        check_signed_taps(wide.data(), wide.size());
    }
    const Converted<typename P::Signal, S> x(signal);
    const Converted<typename P::Taps, T> h(taps);
    Problem problem = shape;
    problem.dtype = dtype_of<typename P::Signal>;
    problem.complex_taps = kIsComplex<typename P::Taps>;
    problem.output_dtype = dtype_of<Out>;
    convolve_once(out, out_size, x.data(), h.data(), problem,
                  {.device = options.device,
                   .accuracy = options.accuracy,
                   .effort = Effort::estimate,
                   .algorithm = {},
                   .threads = options.threads});
}

template <class S, class T>
auto convolve_vector(std::span<const S> signal, std::span<const T> taps, Operation operation, const ConvolveOptions& options) {
    using P = Promote<S, T>;
    Problem shape =
        problem_of(static_cast<std::int64_t>(signal.size()), static_cast<std::int64_t>(taps.size()), operation, options);
    shape.dtype = dtype_of<typename P::Signal>;
    shape.complex_taps = kIsComplex<typename P::Taps>;
    std::vector<typename P::Result> out(static_cast<std::size_t>(output_length(shape)));
    convolve_into(out.data(), static_cast<std::int64_t>(out.size()), signal, taps, shape, options);
    return out;
}

template <ElementRange R>
std::span<const ElementOf<R>> view(const R& range) {
    return {std::ranges::data(range), std::ranges::size(range)};
}

template <ElementRange Out, ElementRange S, ElementRange T>
void convolve_range(Out& out, const S& signal, const T& taps, Operation operation, const ConvolveOptions& options) {
    const auto shape = problem_of(static_cast<std::int64_t>(std::ranges::size(signal)),
                                  static_cast<std::int64_t>(std::ranges::size(taps)), operation, options);
    convolve_into(std::ranges::data(out), static_cast<std::int64_t>(std::ranges::size(out)), view(signal), view(taps), shape,
                  options);
}

}  // namespace detail

/// numpy.convolve(signal, taps) for options = {}: a vector of the promoted element type (i64 for integers).
/// Throws Error for empty input, a NaN option, `valid` with taps longer than the signal, an integer overflow.
template <detail::ElementRange S, detail::ElementRange T>
auto convolve(const S& signal, const T& taps, const ConvolveOptions& options = {}) {
    return detail::convolve_vector(detail::view(signal), detail::view(taps), Operation::convolution, options);
}

/// The same, written to `out`, whose size must be the output length. An integer `out` of floating input is rounded to even
/// and saturated. The buffers must not overlap.
template <detail::ElementRange Out, detail::ElementRange S, detail::ElementRange T>
void convolve(Out&& out, const S& signal, const T& taps, const ConvolveOptions& options = {}) {
    detail::convolve_range(out, signal, taps, Operation::convolution, options);
}

/// sum_t conj(taps[t]) * x(o + t - origin): numpy.correlate(signal, taps, mode).
template <detail::ElementRange S, detail::ElementRange T>
auto correlate(const S& signal, const T& taps, const ConvolveOptions& options = {}) {
    return detail::convolve_vector(detail::view(signal), detail::view(taps), Operation::correlation, options);
}

/// The same, written to `out`, as convolve() does.
template <detail::ElementRange Out, detail::ElementRange S, detail::ElementRange T>
void correlate(Out&& out, const S& signal, const T& taps, const ConvolveOptions& options = {}) {
    detail::convolve_range(out, signal, taps, Operation::correlation, options);
}

}  // namespace tapline
