#include "core/problem/resolved.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "core/problem/checks.hpp"

namespace tapline {
namespace core {
namespace {

// Bytes from a buffer's first element to its last.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;

[[noreturn]] void refuse(ErrorCode code, const std::string& message) { throw Error(code, message); }

void check_stride(const char* name, std::int64_t value) {
    if (value < 0) {
        refuse(ErrorCode::argument,
               std::string(name) + ": " + std::to_string(value) + "; strides are positive, or 0 for the default");
    }
    if (value > kMaxCount) {
        refuse(ErrorCode::argument, std::string(name) + ": " + std::to_string(value) + " is more than 2^56 elements");
    }
}

template <class E>
bool in_enum(E value, E last) {
    const auto number = static_cast<long long>(value);
    return number >= 0 && number <= static_cast<long long>(last);
}

void check_enums(const Problem& p) {
    const bool good = in_enum(p.filters, Filters::per_row) && in_enum(p.mode, Mode::leading) &&
                      in_enum(p.boundary, Boundary::wrap) && in_enum(p.operation, Operation::correlation) &&
                      in_enum(p.dtype, Dtype::bf16) && in_enum(p.overflow, Overflow::wrap) &&
                      (!p.output_dtype || in_enum(*p.output_dtype, Dtype::bf16));
    if (!good) { refuse(ErrorCode::argument, "problem: an enumeration holds a value that is none of its names"); }
}

// The elements of a strided (rows x samples) array from its first to its last, checked against overflow.
std::int64_t extent(const char* name, std::int64_t rows, std::int64_t row_stride, std::int64_t samples, std::int64_t sample_stride,
                    Dtype dtype) {
    const __int128 elements = static_cast<__int128>(rows - 1) * row_stride + static_cast<__int128>(samples - 1) * sample_stride + 1;
    if (elements * static_cast<__int128>(size_of(dtype)) > kMaxBytes) {
        refuse(ErrorCode::argument, std::string(name) + ": the rows, samples and strides span more than 2^60 bytes");
    }
    return static_cast<std::int64_t>(elements);
}

void check_types(const Problem& p) {
    if (p.complex_taps && !is_complex(p.dtype)) {
        refuse(ErrorCode::type, std::string("complex_taps: the signal is ") + to_string(p.dtype) +
                                    "; complex taps need a complex signal: convert it to complex64 or complex128");
    }
    const Dtype out = output_dtype(p);
    if (is_complex(p.dtype) != is_complex(out)) {
        refuse(ErrorCode::type, std::string("output_dtype: ") + to_string(out) + " cannot hold the result of a " +
                                    to_string(p.dtype) +
                                    " signal; a complex signal gives a complex output, a real one a real output");
    }
}

void check_constant(const Problem& p) {
    if (p.boundary != Boundary::constant) { return; }
    if (!is_complex(p.dtype) && p.constant.imag() != 0) {
        refuse(ErrorCode::type, std::string("constant: a complex boundary constant beside a ") + to_string(p.dtype) + " signal");
    }
    if (!is_integer(p.dtype)) { return; }
    const double c = p.constant.real();
    const int bits = 8 * static_cast<int>(size_of(p.dtype));
    const bool is_signed = p.dtype >= Dtype::i8 && p.dtype <= Dtype::i64;
    const double high = p.dtype == Dtype::boolean ? 2 : std::ldexp(1.0, is_signed ? bits - 1 : bits);  // exclusive
    const double low = is_signed ? -high : 0;
    if (!(c >= low && c < high && c == std::floor(c))) {
        refuse(ErrorCode::argument,
               "constant: " + std::to_string(c) + " is not a value of the signal's type " + to_string(p.dtype));
    }
}

void check_epilogue(const Problem& p) {
    if (std::isnan(p.scale)) { refuse(ErrorCode::argument, "scale: NaN; give a number"); }
    if (std::isnan(p.bias)) { refuse(ErrorCode::argument, "bias: NaN; give a number"); }
    if (!p.clamp) { return; }
    if (std::isnan(p.clamp->low) || std::isnan(p.clamp->high)) {
        refuse(ErrorCode::argument, "clamp: a limit is NaN; give numbers or infinities");
    }
    if (p.clamp->low > p.clamp->high) {
        refuse(ErrorCode::argument, "clamp: the lower limit " + std::to_string(p.clamp->low) + " is above the upper limit " +
                                        std::to_string(p.clamp->high));
    }
    if (is_complex(p.dtype)) { refuse(ErrorCode::type, "clamp: complex numbers have no order; clamp needs a real signal"); }
}

void check_factor(const char* name, std::int64_t value) {
    if (value < 1) { refuse(ErrorCode::argument, std::string(name) + ": " + std::to_string(value) + "; it must be 1"); }
    if (value != 1) {
        refuse(ErrorCode::unsupported,
               std::string(name) + ": " + std::to_string(value) + "; only 1 is implemented in this version");
    }
}

void check_filter_count(const Problem& p) {
    if (p.filter_count == 0) { return; }
    const std::string given = "filter_count: " + std::to_string(p.filter_count);
    if (p.filters != Filters::per_row) { refuse(ErrorCode::argument, given + " beside one filter for all rows; use per_row"); }
    if (p.filter_count < 0 || p.batch % p.filter_count != 0) {
        refuse(ErrorCode::argument,
               given + " does not divide the batch of " + std::to_string(p.batch) +
                   " rows, which use the filters in turn; give a divisor, or 0 for a filter of each row's own");
    }
}

void check_sizes(const Problem& p, bool allow_unknown_length) {
    if (p.length != kUnknownLength || !allow_unknown_length) { check_count("length", p.length, "a signal"); }
    check_count("taps", p.taps, "a filter");
    check_count("batch", p.batch, "a batch");
    check_stride("input_row_stride", p.input_row_stride);
    check_stride("input_sample_stride", p.input_sample_stride);
    check_stride("output_row_stride", p.output_row_stride);
    check_stride("output_sample_stride", p.output_sample_stride);
    check_stride("taps_row_stride", p.taps_row_stride);
    check_filter_count(p);
    check_factor("up", p.up);
    check_factor("down", p.down);
    check_factor("dilation", p.dilation);
    if (p.origin && (*p.origin > kMaxCount || *p.origin < -kMaxCount)) {
        refuse(ErrorCode::argument, "origin: " + std::to_string(*p.origin) + " is more than 2^56 samples away");
    }
    if (p.mode == Mode::valid && p.length != kUnknownLength && p.taps > p.length) {
        refuse(ErrorCode::argument, "taps: " + std::to_string(p.taps) + " taps are longer than the signal's " +
                                        std::to_string(p.length) +
                                        " samples, so mode valid has no output; use mode full, same or causal");
    }
}

std::int64_t origin_of(const Problem& p) {
    if (p.origin) { return *p.origin; }
    switch (p.mode) {
        case Mode::full:
        case Mode::causal:
            return p.taps - 1;
        case Mode::same:
            return p.taps / 2;
        case Mode::valid:
        case Mode::leading:
            return 0;
    }
    return 0;
}

// Two outputs must not share a place: rows lie apart, or samples lie apart with the rows between them.
void check_output_layout(const Resolved& r) {
    const bool rows_apart = r.out_row >= (r.output_length - 1) * r.out_sample + 1;
    const bool samples_apart = r.out_sample >= (r.batch - 1) * r.out_row + 1;
    if (r.batch > 1 && !rows_apart && !samples_apart) {
        refuse(ErrorCode::argument, "output_row_stride: " + std::to_string(r.out_row) + " with output_sample_stride " +
                                        std::to_string(r.out_sample) + " puts several outputs in one place");
    }
}

}  // namespace

std::int64_t output_length_of(Mode mode, std::int64_t n, std::int64_t k) {
    if (n == kUnknownLength) { return 0; }
    if (mode == Mode::full) { return n + k - 1; }
    return mode == Mode::valid ? n - k + 1 : n;
}

Resolved resolve(const Problem& problem, bool allow_unknown_length) {
    check_enums(problem);
    check_sizes(problem, allow_unknown_length);
    check_types(problem);
    check_constant(problem);
    check_epilogue(problem);

    Resolved r;
    r.problem = problem;
    r.n = problem.length;
    r.k = problem.taps;
    r.batch = problem.batch;
    r.origin = origin_of(problem);
    r.output_length = output_length_of(problem.mode, r.n, r.k);
    r.dtype = problem.dtype;
    r.taps_dtype = taps_dtype(problem);
    r.output_dtype = output_dtype(problem);
    r.filters = problem.filters == Filters::shared ? 1 : problem.filter_count == 0 ? r.batch : problem.filter_count;
    r.trivial_epilogue = problem.scale == 1 && problem.bias == 0 && !problem.clamp && r.output_dtype == r.dtype;
    const auto or_default = [](std::int64_t value, std::int64_t fallback) { return value == 0 ? fallback : value; };
    r.in_sample = or_default(problem.input_sample_stride, 1);
    r.out_sample = or_default(problem.output_sample_stride, 1);
    const std::int64_t n = r.n == kUnknownLength ? 1 : r.n;
    const std::int64_t m = r.n == kUnknownLength ? 1 : r.output_length;
    extent("input", 1, 1, n, r.in_sample, r.dtype);  // so that the default row strides cannot overflow
    extent("output", 1, 1, m, r.out_sample, r.output_dtype);
    r.in_row = or_default(problem.input_row_stride, n * r.in_sample);
    r.out_row = or_default(problem.output_row_stride, m * r.out_sample);
    extent("input", r.batch, r.in_row, n, r.in_sample, r.dtype);
    extent("output", r.batch, r.out_row, m, r.out_sample, r.output_dtype);
    extent("taps", r.filters, or_default(problem.taps_row_stride, r.k), r.k, 1, r.taps_dtype);
    if (r.n != kUnknownLength) { check_output_layout(r); }
    return r;
}

}  // namespace core

std::int64_t output_length(const Problem& problem) { return core::resolve(problem).output_length; }

std::int64_t origin(const Problem& problem) { return core::resolve(problem).origin; }

Dtype output_dtype(const Problem& problem) noexcept {
    return problem.output_dtype.value_or(is_integer(problem.dtype) ? Dtype::i64 : problem.dtype);
}

Dtype taps_dtype(const Problem& problem) noexcept {
    if (is_integer(problem.dtype)) { return problem.dtype == Dtype::u64 ? Dtype::u64 : Dtype::i64; }
    if (problem.dtype == Dtype::f16 || problem.dtype == Dtype::bf16) { return Dtype::f32; }
    return problem.complex_taps ? problem.dtype : real_part_of(problem.dtype);
}

void validate(const Problem& problem) { core::resolve(problem); }

std::int64_t input_extent(const Problem& problem) {
    const core::Resolved r = core::resolve(problem);
    return (r.batch - 1) * r.in_row + (r.n - 1) * r.in_sample + 1;
}

std::int64_t output_extent(const Problem& problem) {
    const core::Resolved r = core::resolve(problem);
    return (r.batch - 1) * r.out_row + (r.output_length - 1) * r.out_sample + 1;
}

std::int64_t taps_extent(const Problem& problem) {
    const core::Resolved r = core::resolve(problem);
    const std::int64_t stride = problem.taps_row_stride == 0 ? r.k : problem.taps_row_stride;
    return (r.filters - 1) * stride + r.k;
}

}  // namespace tapline
