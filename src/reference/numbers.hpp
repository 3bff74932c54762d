// Elements of every type as numbers that hold them exactly, and back.
#pragma once

#include <complex>
#include <cstdint>

#include "tapline/types.hpp"

namespace tapline::reference {

/// 64 bits of mantissa on x86.
using Wide = std::complex<long double>;

/// Element i, exactly. Any byte but 0 is a true bool.
Wide number_at(const void* data, Dtype dtype, std::int64_t i);

/// Element i of an integer type. Throws Error (unsupported) for others.
__int128 integer_at(const void* data, Dtype dtype, std::int64_t i);

/// The number that an element of this type holds in place of `value`: rounded to the nearest, integers truncated.
Wide rounded_to(std::complex<double> value, Dtype dtype);

/// Element i = the nearest to `value`, ties to even; integers saturate, and NaN becomes 0 there.
void put_number(void* data, Dtype dtype, std::int64_t i, const Wide& value);

/// Element i = the low bits of an exact integer, as two's complement keeps them; a bool is "not zero".
void put_wrapped(void* data, Dtype dtype, std::int64_t i, __int128 value);

}  // namespace tapline::reference
