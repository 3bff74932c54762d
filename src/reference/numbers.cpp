#include "reference/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tapline/error.hpp"

namespace tapline::reference {
namespace {

[[noreturn]] void refuse(Dtype dtype) {
    throw Error(ErrorCode::unsupported, std::string("reference: ") + to_string(dtype) + " is no type for this function");
}

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

// Calls body(T{}) with the C++ type of an integer's elements; bool is a byte.
template <class Body>
auto with_integer(Dtype dtype, const Body& body) {
    switch (dtype) {
        case Dtype::i8:
            return body(std::int8_t{});
        case Dtype::i16:
            return body(std::int16_t{});
        case Dtype::i32:
            return body(std::int32_t{});
        case Dtype::i64:
            return body(std::int64_t{});
        case Dtype::boolean:
        case Dtype::u8:
            return body(std::uint8_t{});
        case Dtype::u16:
            return body(std::uint16_t{});
        case Dtype::u32:
            return body(std::uint32_t{});
        case Dtype::u64:
            return body(std::uint64_t{});
        default:
            refuse(dtype);
    }
}

template <class T>
void put_saturated(void* data, std::int64_t i, long double value, long double high) {
    const long double low = std::numeric_limits<T>::min();
    const long double rounded = std::nearbyint(value);
    // The limits are named, not cast: not every long double has a bit for each of theirs.
    T result = 0;
    if (!std::isnan(value)) {
        const T top = high == 1 ? T{1} : std::numeric_limits<T>::max();
        result = rounded <= low ? std::numeric_limits<T>::min() : (rounded >= high ? top : static_cast<T>(rounded));
    }
    static_cast<T*>(data)[i] = result;
}

}  // namespace

Wide number_at(const void* data, Dtype dtype, std::int64_t i) {
    switch (dtype) {
        case Dtype::f32:
            return static_cast<const float*>(data)[i];
        case Dtype::f64:
            return static_cast<const double*>(data)[i];
        case Dtype::complex64:
            return {static_cast<const float*>(data)[2 * i], static_cast<const float*>(data)[2 * i + 1]};
        case Dtype::complex128:
            return {static_cast<const double*>(data)[2 * i], static_cast<const double*>(data)[2 * i + 1]};
        case Dtype::f16:
        case Dtype::bf16:
            return widened(static_cast<const std::uint16_t*>(data)[i], dtype);
        default:
            return static_cast<long double>(integer_at(data, dtype, i));
    }
}

__int128 integer_at(const void* data, Dtype dtype, std::int64_t i) {
    const auto value = with_integer(dtype, [&]<class T>(T) { return static_cast<__int128>(static_cast<const T*>(data)[i]); });
    return dtype == Dtype::boolean ? static_cast<__int128>(value != 0) : value;
}

Wide rounded_to(std::complex<double> value, Dtype dtype) {
    if (real_part_of(dtype) == Dtype::f32) { return {static_cast<float>(value.real()), static_cast<float>(value.imag())}; }
    if (dtype == Dtype::f16 || dtype == Dtype::bf16) { return widened(narrowed(value.real(), dtype), dtype); }
    return {value.real(), value.imag()};
}

void put_number(void* data, Dtype dtype, std::int64_t i, const Wide& value) {
    switch (dtype) {
        case Dtype::f32:
            static_cast<float*>(data)[i] = static_cast<float>(value.real());
            return;
        case Dtype::f64:
            static_cast<double*>(data)[i] = static_cast<double>(value.real());
            return;
        case Dtype::complex64:
            static_cast<std::complex<float>*>(data)[i] = {static_cast<float>(value.real()), static_cast<float>(value.imag())};
            return;
        case Dtype::complex128:
            static_cast<std::complex<double>*>(data)[i] = {static_cast<double>(value.real()), static_cast<double>(value.imag())};
            return;
        case Dtype::f16:
        case Dtype::bf16:
            static_cast<std::uint16_t*>(data)[i] = narrowed(value.real(), dtype);
            return;
        default:
            with_integer(dtype, [&]<class T>(T) {
                put_saturated<T>(data, i, value.real(), dtype == Dtype::boolean ? 1 : std::numeric_limits<T>::max());
            });
    }
}

void put_wrapped(void* data, Dtype dtype, std::int64_t i, __int128 value) {
    const auto low = static_cast<std::uint64_t>(static_cast<unsigned __int128>(value));
    with_integer(dtype, [&]<class T>(T) {
        static_cast<T*>(data)[i] = dtype == Dtype::boolean ? static_cast<T>(value != 0) : static_cast<T>(low);
    });
}

}  // namespace tapline::reference
