// Exact sums of small integers in floating point: where no sum can pass what a float or a double counts by ones, every product and
// every partial sum is the integer it should be, in any order. So the direct sums of real samples are exact ones, in all layouts.
#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/problem/elements.hpp"
#include "cpu/algorithms.hpp"
#include "cpu/element_types.hpp"

namespace tapline::cpu {
namespace {

using core::Request;
using core::Resolved;
using core::Support;

// The integers up to these are all numbers of their type.
constexpr double kMostInFloat = 0x1p24, kMostInDouble = 0x1p53;

// Of an output that becomes an integer, and of a byte of it on its way to memory.
constexpr double kCastSeconds = 0.25e-9, kSecondsOfAByte = 0.05e-9;

double largest_sample(Dtype dtype) {
    return core::with_integer_type(dtype, []<class T>(T) {
        return std::max(static_cast<double>(std::numeric_limits<T>::max()), -static_cast<double>(std::numeric_limits<T>::min()));
    });
}

// No sum's magnitude is larger.
double largest_sum(const Resolved& p, const core::TapsFacts& facts) {
    return largest_sample(p.dtype) * facts.sum_of_taps;  // a constant beyond the ends is a sample
}

// Whether each such sum is an output, or its low bits are.
bool fits_output(const Resolved& p, const core::TapsFacts& facts, double sum) {
    if (p.overflow == Overflow::wrap) { return true; }
    const bool has_negative =
        facts.has_negative_tap || core::with_integer_type(p.dtype, []<class X>(X) { return std::is_signed_v<X>; });
    return core::with_integer_type(p.output_dtype, [&]<class T>(T) {
        return (std::is_signed_v<T> || !has_negative) && sum <= static_cast<double>(std::numeric_limits<T>::max());
    });
}

Support supports_floats(const Resolved& p, const core::TapsFacts& facts) {
    if (Support exact = supports_integers(p); !exact.ok) { return exact; }
    if (p.cut().n == kUnknownLength) { return Support::no("the signal's length is not known"); }
    const bool plain = !p.changes_sums();
    if (p.dtype == Dtype::boolean || !is_integer(p.output_dtype) || p.output_dtype == Dtype::boolean || !plain) {
        return Support::no("it takes integers to integers, as they are");
    }
    const double sum = largest_sum(p, facts);
    if (!(sum < kMostInDouble)) { return Support::no("a sum may pass 2^53"); }
    return fits_output(p, facts, sum) ? Support::yes() : Support::no("a sum may pass the output's type");
}

// The problem with real taps, whose sums are cast without loss.
Resolved in_floats(const Resolved& problem, const core::TapsFacts& facts) {
    Resolved p = problem;
    p.taps_dtype = p.sum_dtype = largest_sum(problem, facts) < kMostInFloat ? Dtype::f32 : Dtype::f64;
    p.overflow = Overflow::truncate;  // of a number without a fraction the low bits, which are those of the sum
    p.trivial_epilogue = false;
    return p;
}

template <class T>
std::vector<T> real_taps(const Resolved& p, const std::int64_t* taps) {
    std::int64_t count = p.filters * p.taps();
    for (const core::Batch& axis : p.outer) { count *= axis.taps_stride == 0 ? 1 : axis.length; }
    return std::vector<T>(taps, taps + count);
}

class IntegerFloats final : public core::Algorithm {
public:
    [[nodiscard]] std::string_view name() const override { return "integer_floats"; }
    [[nodiscard]] std::string_view summary() const override {
        return "exact sums of integers that floating point counts one by one, in any layout, of signals and images";
    }
    [[nodiscard]] bool takes_rank(int /*rank*/) const override { return true; }
    [[nodiscard]] bool takes_outer(const Resolved& problem, const Request& request) const override {
        if (!supports_floats(problem, request.facts).ok) { return false; }
        return inner(problem).takes_outer(in_floats(problem, request.facts), as_real(request));
    }
    [[nodiscard]] Support supports(const Resolved& problem, const Request& request) const override {
        if (Support floats = supports_floats(problem, request.facts); !floats.ok) { return floats; }
        return inner(problem).supports(in_floats(problem, request.facts), as_real(request));
    }
    [[nodiscard]] double estimate_seconds(const Resolved& problem, const Request& request) const override {
        const double outputs = static_cast<double>(problem.outputs()) * static_cast<double>(problem.outer_length());
        const double each = kCastSeconds + kSecondsOfAByte * static_cast<double>(size_of(problem.output_dtype));
        return inner(problem).estimate_seconds(in_floats(problem, request.facts), as_real(request)) +
               each * outputs / request.threads;
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const Resolved& problem, const void* taps,
                                                            const Request& request) const override {
        const Resolved p = in_floats(problem, request.facts);
        const auto* const integers = static_cast<const std::int64_t*>(taps);
        return with_real_type(p.sum_dtype,
                              [&]<class T>(T) { return inner(p).prepare(p, real_taps<T>(p, integers).data(), as_real(request)); });
    }

private:
    static const core::Algorithm& inner(const Resolved& p) { return p.rank == 1 ? direct_algorithm() : image_direct_algorithm(); }
    // Of the facts of integers none is one of real taps.
    static Request as_real(const Request& request) {
        Request real = request;
        real.facts = {};
        real.whole = nullptr;  // of tiles of transforms
        return real;
    }
};

}  // namespace

const core::Algorithm& integer_floats_algorithm() { return core::only<IntegerFloats>(); }

}  // namespace tapline::cpu
