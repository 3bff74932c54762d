#include "support/comparison.hpp"

#include <cstring>
#include <sstream>

#include "core/problem/half.hpp"

namespace tapline::test {
namespace {

// One output, as (real, imaginary) or as the number an integer output holds.
std::complex<long double> output_at(const void* out, Dtype dtype, std::int64_t i) {
    const auto at = [&]<class T>(T) { return static_cast<const T*>(out)[i]; };
    switch (dtype) {
        case Dtype::f32:
            return at(float{});
        case Dtype::f64:
            return at(double{});
        case Dtype::complex64:
            return {at(std::complex<float>{}).real(), at(std::complex<float>{}).imag()};
        case Dtype::complex128:
            return {at(std::complex<double>{}).real(), at(std::complex<double>{}).imag()};
        case Dtype::f16:
            return core::from_f16(at(std::uint16_t{}));
        case Dtype::bf16:
            return core::from_bf16(at(std::uint16_t{}));
        case Dtype::i8:
            return at(std::int8_t{});
        case Dtype::i16:
            return at(std::int16_t{});
        case Dtype::i32:
            return at(std::int32_t{});
        case Dtype::i64:
            return static_cast<long double>(at(std::int64_t{}));
        case Dtype::boolean:
        case Dtype::u8:
            return at(std::uint8_t{});
        case Dtype::u16:
            return at(std::uint16_t{});
        case Dtype::u32:
            return at(std::uint32_t{});
        default:
            return static_cast<long double>(at(std::uint64_t{}));
    }
}

bool is_half(Dtype dtype) { return dtype == Dtype::f16 || dtype == Dtype::bf16; }

// Of the type in which sums are formed.
double epsilon_of(Dtype dtype) { return real_part_of(dtype) == Dtype::f32 || is_half(dtype) ? 0x1p-23 : 0x1p-52; }

// What storing a value of at most this size in 16 bits may change: half a unit in the last place.
long double half_rounding(Dtype dtype, long double size) {
    if (!is_half(dtype)) { return 0; }
    const int fraction_bits = dtype == Dtype::f16 ? 10 : 7;
    const int least_exponent = dtype == Dtype::f16 ? -14 : -126;  // of a normal number
    const int exponent = size == 0 || !std::isfinite(size) ? least_exponent : std::max(std::ilogb(size), least_exponent);
    return std::ldexp(0.5L, exponent - fraction_bits);
}

// f16 ends at 65504: from halfway to the next step on, infinity is right.
bool overflows(Dtype dtype, const long double got, const long double wanted, const long double tolerance) {
    return dtype == Dtype::f16 && std::isinf(got) && got * wanted > 0 && std::abs(wanted) + tolerance >= 65520;
}

// The exact sum through the epilogue, in long double: what the output would be without any rounding.
long double finished(const Problem& p, long double sum, bool is_real_part) {
    long double value = p.scale == 1 ? sum : sum * p.scale;
    if (is_real_part) { value += p.bias; }
    if (p.clamp) { value = value < p.clamp->low ? p.clamp->low : (value > p.clamp->high ? p.clamp->high : value); }
    return value;
}

struct Part {
    long double got;
    long double wanted;     // after the epilogue, not rounded
    long double tolerance;  // element by element
};

std::string difference(std::int64_t row, std::int64_t o, const Part& part) {
    std::ostringstream text;
    text.precision(12);
    text << "row " << row << ", output " << o << ": " << part.got << " instead of " << part.wanted << " (tolerance "
         << part.tolerance << ")";
    return text.str();
}

// NaN and infinity must be themselves; returns true if the part is settled, with `wrong` set if it is not right.
bool settled_special(const Part& part, bool& wrong) {
    if (std::isnan(part.wanted)) {
        wrong = !std::isnan(part.got);
        return true;
    }
    if (std::isinf(part.wanted)) {
        wrong = part.got != part.wanted;
        return true;
    }
    return false;
}

std::string compare_integer_output(const Problem& p, const std::vector<Part>& parts, std::int64_t m) {
    // Saturated and rounded, so compared with the reference's own rounding: off by one at most, where a tie is near.
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        const auto bits = static_cast<int>(8 * size_of(output_dtype(p)));
        const Dtype type = output_dtype(p);
        const bool is_signed = type >= Dtype::i8 && type <= Dtype::i64;
        const long double high = type == Dtype::boolean ? 1 : std::ldexp(1.0L, is_signed ? bits - 1 : bits) - 1;
        const long double low = is_signed ? -high - 1 : 0;
        long double wanted = std::isnan(part.wanted) ? 0 : std::nearbyint(part.wanted);
        wanted = wanted < low ? low : (wanted > high ? high : wanted);
        const bool exact_tie = std::abs(part.wanted - std::floor(part.wanted) - 0.5L) <= part.tolerance;
        if (!std::isfinite(part.wanted)) {  // saturated, or 0 for NaN
            if (part.got != wanted) { return difference(static_cast<std::int64_t>(i) / m, static_cast<std::int64_t>(i) % m, part); }
            continue;
        }
        const long double allowed = exact_tie ? 1 : (part.tolerance < 0.5L ? 0 : part.tolerance + 1);
        if (!(std::abs(part.got - wanted) <= allowed)) {
            return difference(static_cast<std::int64_t>(i) / m, static_cast<std::int64_t>(i) % m, {part.got, wanted, allowed});
        }
    }
    return {};
}

// The L2 norm of everything finite that a row's outputs read, and sum |taps| of its filter.
struct RowScale {
    long double input_norm = 0;
    long double taps_sum = 0;
};

RowScale row_scale(const Problem& p, const void* in, const void* taps, std::int64_t row) {
    const std::int64_t sample = p.input_sample_stride == 0 ? 1 : p.input_sample_stride;
    const std::int64_t in_row = p.input_row_stride == 0 ? p.length * sample : p.input_row_stride;
    const std::int64_t filters = p.filters == Filters::shared ? 1 : (p.filter_count == 0 ? p.batch : p.filter_count);
    const std::int64_t taps_row = p.taps_row_stride == 0 ? p.taps : p.taps_row_stride;
    long double squares = 0;
    for (std::int64_t i = 0; i < p.length; ++i) {
        const auto x = output_at(in, p.dtype, row * in_row + i * sample);
        for (const long double part : {x.real(), x.imag()}) {  // real taps read a finite part beside a NaN in the other
            if (std::isfinite(part)) { squares += part * part; }
        }
    }
    if (p.boundary == Boundary::constant && std::isfinite(std::norm(p.constant))) {
        squares += std::norm(p.constant) * static_cast<long double>(2 * p.taps);
    }
    RowScale scale;
    scale.input_norm = std::sqrt(squares);
    for (std::int64_t t = 0; t < p.taps; ++t) {
        const long double size = std::abs(output_at(taps, taps_dtype(p), row % filters * taps_row + t));
        if (std::isfinite(size)) { scale.taps_sum += size; }
    }
    return scale;
}

// Extended boundaries read samples again: a window of m + k - 1 samples over n of them.
long double reuse(const Problem& p) {
    const long double reads = static_cast<long double>(output_length(p) + p.taps - 1);
    return std::sqrt(std::max(1.0L, reads / static_cast<long double>(p.length) + 1));
}

}  // namespace

std::string compare(const Problem& p, const void* out, const void* in, const void* taps, bool direct) {
    const reference::Sums exact = reference::sums(p, in, taps);
    const std::int64_t m = output_length(p);
    const Dtype type = output_dtype(p);
    const std::int64_t sample = p.output_sample_stride == 0 ? 1 : p.output_sample_stride;
    const std::int64_t row_stride = p.output_row_stride == 0 ? m * sample : p.output_row_stride;
    const long double eps = epsilon_of(p.dtype);
    const long double out_eps = is_integer(type) || is_half(type) ? 0 : epsilon_of(type);
    const long double l2_factor = eps == 0x1p-23L ? 1e-6L : 1e-14L;
    const int parts_each = is_complex(p.dtype) ? 2 : 1;
    std::vector<Part> integer_parts;
    for (std::int64_t row = 0; row < p.batch; ++row) {
        const RowScale scale = row_scale(p, in, taps, row);
        const long double allowed_l2 = l2_factor * scale.taps_sum * scale.input_norm * reuse(p) * std::abs(p.scale);
        long double squares = 0;
        long double rounding_squares = 0;
        for (std::int64_t o = 0; o < m; ++o) {
            const auto got = output_at(out, type, row * row_stride + o * sample);
            const auto i = static_cast<std::size_t>(row * m + o);
            for (int c = 0; c < parts_each; ++c) {
                const long double sum = c == 0 ? exact.real[i] : exact.imag[i];
                const long double magnitude = c == 0 ? exact.real_magnitude[i] : exact.imag_magnitude[i];
                Part part{c == 0 ? got.real() : got.imag(), finished(p, sum, c == 0), 0};
                const long double rounding = (eps + out_eps) * (std::abs(part.wanted) + std::abs(p.scale * sum) +
                                                                std::abs(static_cast<long double>(p.bias)));
                part.tolerance = std::abs(p.scale) * static_cast<long double>(p.taps + 2) * eps * magnitude + rounding + 1e-37L;
                if (!direct) { part.tolerance = allowed_l2 + rounding + 1e-37L; }
                const long double storing = half_rounding(type, std::abs(part.wanted) + part.tolerance);
                part.tolerance += storing;
                if (is_integer(type)) {
                    integer_parts.push_back(part);
                    continue;
                }
                bool wrong = false;
                if (settled_special(part, wrong)) {
                    if (wrong) { return difference(row, o, part); }
                    continue;
                }
                if (overflows(type, part.got, part.wanted, part.tolerance)) { continue; }
                const long double error = std::abs(part.got - part.wanted);
                if (!(error <= part.tolerance)) { return difference(row, o, part); }
                squares += error * error;
                rounding_squares += (rounding + storing) * (rounding + storing);
            }
        }
        if (!direct && !(std::sqrt(squares) <= allowed_l2 + std::sqrt(rounding_squares) + 1e-37L)) {
            return "row " + std::to_string(row) + ": L2 error " + std::to_string(static_cast<double>(std::sqrt(squares))) +
                   " above " + std::to_string(static_cast<double>(allowed_l2));
        }
    }
    return is_integer(type) ? compare_integer_output(p, integer_parts, m) : std::string();
}

}  // namespace tapline::test
