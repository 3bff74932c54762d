#include "reference/reference.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "tapline/error.hpp"

namespace tapline::reference {
namespace {

using Wide = std::complex<long double>;

// A 16-bit float of so many exponent and mantissa bits, by the formula of IEEE 754.
long double widened(std::uint16_t bits, int exponent_bits, int mantissa_bits) {
    const long double sign = (bits & 0x8000) != 0 ? -1 : 1;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    if (exponent == (1 << exponent_bits) - 1) { return mantissa != 0 ? std::nanl("") : sign * HUGE_VALL; }
    if (exponent == 0) { return sign * std::ldexp(static_cast<long double>(mantissa), 1 - bias - mantissa_bits); }
    return sign * std::ldexp(static_cast<long double>(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits);
}

long double widened(std::uint16_t bits, Dtype dtype) { return dtype == Dtype::f16 ? widened(bits, 5, 10) : widened(bits, 8, 7); }

// The nearest 16-bit float: the value in units of its last place, rounded to even.
std::uint16_t narrowed(long double value, Dtype dtype) {
    const int mantissa_bits = dtype == Dtype::f16 ? 10 : 7;
    const int bias = dtype == Dtype::f16 ? 15 : 127;
    const int infinity = (2 * bias + 1) << mantissa_bits;
    const int sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) { return static_cast<std::uint16_t>(infinity + 1); }
    if (std::isinf(value)) { return static_cast<std::uint16_t>(sign + infinity); }
    int exponent = value == 0 ? 1 - bias : std::max(std::ilogb(value), 1 - bias);
    auto units = static_cast<int>(std::nearbyint(std::ldexp(std::abs(value), std::min(mantissa_bits - exponent, 200))));
    if (units == 2 << mantissa_bits) {
        units /= 2;
        ++exponent;
    }
    const bool normal = units >= 1 << mantissa_bits;
    const int field = normal ? exponent + bias : 0;
    const int bits = (field << mantissa_bits) + units - (normal ? 1 << mantissa_bits : 0);
    return static_cast<std::uint16_t>(sign + std::min(field > 2 * bias ? infinity : bits, infinity));
}

// The element at an index, whatever its type, exactly.
Wide element(const void* data, Dtype dtype, std::int64_t i) {
    switch (dtype) {
        case Dtype::f32:
            return static_cast<const float*>(data)[i];
        case Dtype::f64:
            return static_cast<const double*>(data)[i];
        case Dtype::complex64: {
            const auto z = static_cast<const std::complex<float>*>(data)[i];
            return {z.real(), z.imag()};
        }
        case Dtype::complex128: {
            const auto z = static_cast<const std::complex<double>*>(data)[i];
            return {z.real(), z.imag()};
        }
        case Dtype::f16:
        case Dtype::bf16:
            return widened(static_cast<const std::uint16_t*>(data)[i], dtype);
        default:
            throw Error(ErrorCode::unsupported, "reference: this element type has a function of its own");
    }
}

__int128 integer(const void* data, Dtype dtype, std::int64_t i) {
    switch (dtype) {
        case Dtype::boolean:
            return static_cast<const std::uint8_t*>(data)[i] != 0 ? 1 : 0;
        case Dtype::i8:
            return static_cast<const std::int8_t*>(data)[i];
        case Dtype::i16:
            return static_cast<const std::int16_t*>(data)[i];
        case Dtype::i32:
            return static_cast<const std::int32_t*>(data)[i];
        case Dtype::i64:
            return static_cast<const std::int64_t*>(data)[i];
        case Dtype::u8:
            return static_cast<const std::uint8_t*>(data)[i];
        case Dtype::u16:
            return static_cast<const std::uint16_t*>(data)[i];
        case Dtype::u32:
            return static_cast<const std::uint32_t*>(data)[i];
        case Dtype::u64:
            return static_cast<const std::uint64_t*>(data)[i];
        default:
            throw Error(ErrorCode::unsupported, "reference: not an integer type");
    }
}

// Walks outward one sample at a time, as the pictures in tapline/types.hpp do: slow, and nothing to get wrong.
// Returns the index that x(p) reads, or -1 for the zero or constant boundary.
std::int64_t extended(Boundary boundary, std::int64_t p, std::int64_t n) {
    while (p < 0 || p >= n) {
        switch (boundary) {
            case Boundary::zero:
            case Boundary::constant:
                return -1;
            case Boundary::nearest:
                p = p < 0 ? 0 : n - 1;
                break;
            case Boundary::reflect:
                p = p < 0 ? -1 - p : 2 * n - 1 - p;
                break;
            case Boundary::mirror:
                if (n == 1) { return 0; }
                p = p < 0 ? -p : 2 * (n - 1) - p;
                break;
            case Boundary::wrap:
                p = p < 0 ? p + n : p - n;
                break;
        }
    }
    return p;
}

struct Shape {
    std::int64_t n, k, batch, origin, outputs, in_row, in_sample, out_row, out_sample, filters, taps_row;
};

Shape shape_of(const Problem& p) {
    Shape s{};
    s.n = p.length;
    s.k = p.taps;
    s.batch = p.batch;
    s.outputs = p.mode == Mode::full ? s.n + s.k - 1 : (p.mode == Mode::valid ? s.n - s.k + 1 : s.n);
    s.origin = p.mode == Mode::full || p.mode == Mode::causal ? s.k - 1 : (p.mode == Mode::same ? s.k / 2 : 0);
    if (p.origin) { s.origin = *p.origin; }
    s.in_sample = p.input_sample_stride != 0 ? p.input_sample_stride : 1;
    s.in_row = p.input_row_stride != 0 ? p.input_row_stride : s.n * s.in_sample;
    s.out_sample = p.output_sample_stride != 0 ? p.output_sample_stride : 1;
    s.out_row = p.output_row_stride != 0 ? p.output_row_stride : s.outputs * s.out_sample;
    s.filters = p.filters == Filters::shared ? 1 : (p.filter_count != 0 ? p.filter_count : s.batch);
    s.taps_row = p.taps_row_stride != 0 ? p.taps_row_stride : s.k;
    return s;
}

// Calls term(sample index or -1, tap index) for every term of one output that is present.
template <class Term>
void for_each_term(const Problem& p, const Shape& s, std::int64_t o, Term term) {
    for (std::int64_t t = 0; t < s.k; ++t) {
        const std::int64_t index = extended(p.boundary, o + t - s.origin, s.n);
        if (index < 0 && p.boundary == Boundary::zero) { continue; }
        term(index, p.operation == Operation::convolution ? s.k - 1 - t : t);
    }
}

struct Sum {
    Wide value = 0;
    long double real_magnitude = 0;
    long double imag_magnitude = 0;
};

Sum sum_of(const Problem& p, const Shape& s, const void* in, const void* taps, std::int64_t row, std::int64_t o) {
    Sum sum;
    const Dtype tap_type = taps_dtype(p);
    for_each_term(p, s, o, [&](std::int64_t index, std::int64_t t) {
        Wide x =
            index < 0 ? Wide(p.constant.real(), p.constant.imag()) : element(in, p.dtype, row * s.in_row + index * s.in_sample);
        if (index < 0 && real_part_of(p.dtype) == Dtype::f32) {
            x = Wide(static_cast<float>(p.constant.real()), static_cast<float>(p.constant.imag()));
        }
        if (index < 0 && (p.dtype == Dtype::f16 || p.dtype == Dtype::bf16)) {
            x = widened(narrowed(p.constant.real(), p.dtype), p.dtype);
        }
        Wide h = element(taps, tap_type, row % s.filters * s.taps_row + t);
        if (p.operation == Operation::correlation) { h = Wide(h.real(), -h.imag()); }
        if (!is_complex(p.dtype)) {
            sum.value += Wide(x.real() * h.real(), 0);
        } else if (!p.complex_taps) {
            sum.value += Wide(x.real() * h.real(), x.imag() * h.real());
        } else {  // the four real products
            sum.value += Wide(x.real() * h.real() - x.imag() * h.imag(), x.real() * h.imag() + x.imag() * h.real());
        }
        const Wide cross = is_complex(p.dtype) && p.complex_taps ? Wide(x.imag() * h.imag(), x.real() * h.imag()) : Wide(0);
        sum.real_magnitude += std::abs(x.real() * h.real()) + std::abs(cross.real());
        sum.imag_magnitude += std::abs(x.imag() * h.real()) + std::abs(cross.imag());
    });
    return sum;
}

// scale, bias and clamp of one real component; `is_real_part` takes the bias.
long double epilogue(const Problem& p, long double value, bool is_real_part) {
    if (p.scale != 1) { value *= p.scale; }
    if (is_real_part && p.bias != 0) { value += p.bias; }
    if (p.clamp) {
        if (value < p.clamp->low) { value = p.clamp->low; }
        if (value > p.clamp->high) { value = p.clamp->high; }
    }
    return value;
}

template <class T>
void put_integer(void* out, std::int64_t at, long double value) {
    const long double low = std::numeric_limits<T>::min();
    const long double high = std::numeric_limits<T>::max();
    const long double rounded = std::nearbyint(value);
    T result = 0;
    if (!std::isnan(value)) {
        result = rounded <= low ? std::numeric_limits<T>::min()
                                : (rounded >= high ? std::numeric_limits<T>::max() : static_cast<T>(rounded));
    }
    static_cast<T*>(out)[at] = result;
}

void put_real(void* out, Dtype dtype, std::int64_t at, long double value) {
    switch (dtype) {
        case Dtype::f32:
            static_cast<float*>(out)[at] = static_cast<float>(value);
            return;
        case Dtype::f64:
            static_cast<double*>(out)[at] = static_cast<double>(value);
            return;
        case Dtype::boolean:
            return put_integer<bool>(out, at, value);
        case Dtype::i8:
            return put_integer<std::int8_t>(out, at, value);
        case Dtype::i16:
            return put_integer<std::int16_t>(out, at, value);
        case Dtype::i32:
            return put_integer<std::int32_t>(out, at, value);
        case Dtype::i64:
            return put_integer<std::int64_t>(out, at, value);
        case Dtype::u8:
            return put_integer<std::uint8_t>(out, at, value);
        case Dtype::u16:
            return put_integer<std::uint16_t>(out, at, value);
        case Dtype::u32:
            return put_integer<std::uint32_t>(out, at, value);
        case Dtype::u64:
            return put_integer<std::uint64_t>(out, at, value);
        case Dtype::f16:
        case Dtype::bf16:
            static_cast<std::uint16_t*>(out)[at] = narrowed(value, dtype);
            return;
        default:
            throw Error(ErrorCode::unsupported, "reference: this output type");
    }
}

void put(void* out, Dtype dtype, std::int64_t at, const Wide& value) {
    if (dtype == Dtype::complex64) {
        static_cast<std::complex<float>*>(out)[at] = {static_cast<float>(value.real()), static_cast<float>(value.imag())};
    } else if (dtype == Dtype::complex128) {
        static_cast<std::complex<double>*>(out)[at] = {static_cast<double>(value.real()), static_cast<double>(value.imag())};
    } else {
        put_real(out, dtype, at, value.real());
    }
}

// The low bits of an exact integer, as two's complement keeps them; bool is "not zero".
void put_wrapped(void* out, Dtype dtype, std::int64_t at, __int128 value) {
    const auto low = static_cast<std::uint64_t>(static_cast<unsigned __int128>(value));
    switch (size_of(dtype)) {
        case 1:
            static_cast<std::uint8_t*>(out)[at] = dtype == Dtype::boolean ? (value != 0 ? 1 : 0) : static_cast<std::uint8_t>(low);
            return;
        case 2:
            static_cast<std::uint16_t*>(out)[at] = static_cast<std::uint16_t>(low);
            return;
        case 4:
            static_cast<std::uint32_t*>(out)[at] = static_cast<std::uint32_t>(low);
            return;
        default:
            static_cast<std::uint64_t*>(out)[at] = low;
            return;
    }
}

}  // namespace

Sums sums(const Problem& problem, const void* in, const void* taps) {
    const Shape s = shape_of(problem);
    Sums result;
    for (std::int64_t row = 0; row < s.batch; ++row) {
        for (std::int64_t o = 0; o < s.outputs; ++o) {
            const Sum sum = sum_of(problem, s, in, taps, row, o);
            result.real.push_back(sum.value.real());
            result.imag.push_back(sum.value.imag());
            result.real_magnitude.push_back(sum.real_magnitude);
            result.imag_magnitude.push_back(sum.imag_magnitude);
        }
    }
    return result;
}

std::vector<__int128> integer_sums(const Problem& problem, const void* in, const void* taps) {
    const Shape s = shape_of(problem);
    const Dtype tap_type = taps_dtype(problem);
    std::vector<__int128> result;
    for (std::int64_t row = 0; row < s.batch; ++row) {
        for (std::int64_t o = 0; o < s.outputs; ++o) {
            __int128 sum = 0;
            for_each_term(problem, s, o, [&](std::int64_t index, std::int64_t t) {
                const __int128 x = index < 0 ? static_cast<__int128>(problem.constant.real())
                                             : integer(in, problem.dtype, row * s.in_row + index * s.in_sample);
                sum += x * integer(taps, tap_type, row % s.filters * s.taps_row + t);
            });
            result.push_back(sum);
        }
    }
    return result;
}

void convolve(const Problem& problem, void* out, const void* in, const void* taps) {
    const Shape s = shape_of(problem);
    const Dtype out_type = output_dtype(problem);
    const bool plain = problem.scale == 1 && problem.bias == 0 && !problem.clamp;
    if (is_integer(problem.dtype)) {
        const std::vector<__int128> exact = integer_sums(problem, in, taps);
        for (std::int64_t i = 0; i < s.batch * s.outputs; ++i) {
            const std::int64_t at = i / s.outputs * s.out_row + i % s.outputs * s.out_sample;
            const __int128 value = exact[static_cast<std::size_t>(i)];
            if (plain && is_integer(out_type)) {
                put_wrapped(out, out_type, at, value);
            } else {
                put_real(out, out_type, at, epilogue(problem, static_cast<long double>(value), true));
            }
        }
        return;
    }
    for (std::int64_t row = 0; row < s.batch; ++row) {
        for (std::int64_t o = 0; o < s.outputs; ++o) {
            const Wide value = sum_of(problem, s, in, taps, row, o).value;
            put(out, out_type, row * s.out_row + o * s.out_sample,
                Wide(epilogue(problem, value.real(), true),
                     is_complex(problem.dtype) ? epilogue(problem, value.imag(), false) : 0));
        }
    }
}

}  // namespace tapline::reference
