// scale, bias, clamp and the saturating cast, applied to sums on their way to the output.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/problem/resolved.hpp"
#include "core/problem/window.hpp"

namespace tapline::core {

/// Stores `count` packed sums of type T (float, double, or their complex types) as outputs [first, first + count) of one
/// row, with the problem's epilogue: cast(clamp(scale * sum + bias)). `sums` may be modified. Casts to integers round to
/// even, saturate and make NaN 0, or lose the fraction and keep the low bits (Overflow::truncate); clamp passes NaN.
template <class T>
void store(const Resolved& problem, const Output& output, std::int64_t row, std::int64_t first, std::int64_t count, T* sums);

/// A number without its fraction, as a C cast makes an i64 of it, of which a narrower integer keeps the low bits. Saturates; NaN
/// is 0.
template <class To, class From>
To truncated(From value) {
    if (!(value > From{-0x1p63})) { return static_cast<To>(std::isnan(value) ? 0 : std::numeric_limits<std::int64_t>::min()); }
    return static_cast<To>(value >= From{0x1p63} ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(value));
}

/// The address of output `first` of one row if sums of type T may be written there as they are: trivial epilogue and unit
/// sample stride; else nullptr.
template <class T>
T* direct_target(const Resolved& problem, const Output& output, std::int64_t row, std::int64_t first) {
    if (!problem.trivial_epilogue || output.stride != 1) { return nullptr; }
    return static_cast<T*>(output.data) + row * output.batch_stride + (first - output.first);
}

}  // namespace tapline::core
