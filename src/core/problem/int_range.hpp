// Integers wider than 64 bits, and what fits where.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace tapline::core {

using Int128 = __int128;
using Uint128 = unsigned __int128;

/// Two's complement in 192 bits: high * 2^128 + low. Sums of 2^63 products of 64-bit factors fit.
struct Int192 {
    Uint128 low = 0;
    std::int64_t high = 0;

    constexpr Int192() = default;
    constexpr Int192(Uint128 low_bits, std::int64_t high_bits) : low(low_bits), high(high_bits) {}
    constexpr explicit Int192(Int128 value) : low(static_cast<Uint128>(value)), high(value < 0 ? -1 : 0) {}

    constexpr void add(Uint128 addend, std::int64_t addend_high) {
        low += addend;
        high += addend_high + (low < addend ? 1 : 0);
    }
    constexpr void add(const Int192& addend) { add(addend.low, addend.high); }

    [[nodiscard]] constexpr bool negative() const { return high < 0; }
    [[nodiscard]] constexpr bool is_zero() const { return low == 0 && high == 0; }
    [[nodiscard]] constexpr Int192 negated() const {
        const Uint128 negated_low = ~low + 1;
        return {negated_low, static_cast<std::int64_t>(~static_cast<std::uint64_t>(high) + (negated_low == 0 ? 1U : 0U))};
    }
    [[nodiscard]] constexpr bool fits_64() const {
        const auto value = static_cast<std::int64_t>(low);
        return static_cast<Uint128>(static_cast<Int128>(value)) == low && high == (value < 0 ? -1 : 0);
    }
    friend constexpr bool operator==(const Int192&, const Int192&) = default;
    friend constexpr bool operator<(const Int192& a, const Int192& b) { return a.high != b.high ? a.high < b.high : a.low < b.low; }
};

/// The exact value rounded once to F. Only the top bits and a sticky one are kept, of which there are more than F's significand
/// has, so that their conversion rounds as the whole's would: 63 for f32 and f64, which processors convert, else 127.
template <class F>
F to_floating(const Int192& value) {
    using Kept = std::conditional_t<(std::numeric_limits<F>::digits < 60), std::int64_t, Int128>;
    constexpr int kKept = 8 * static_cast<int>(sizeof(Kept)) - 1;
    if (value.fits_64()) { return static_cast<F>(static_cast<std::int64_t>(value.low)); }
    const Int192 magnitude = value.negative() ? value.negated() : value;
    const auto high = static_cast<std::uint64_t>(magnitude.high);
    const int bits = high != 0 ? 128 + std::bit_width(high) : 64 + std::bit_width(static_cast<std::uint64_t>(magnitude.low >> 64));
    const int shift = std::max(bits - kKept, 0);  // at most 128: no magnitude has more than 191 bits
    Uint128 top = magnitude.low;
    if (shift == 128) {
        top = high | (magnitude.low != 0 ? 1 : 0);
    } else if (shift > 0) {
        const bool sticky = (magnitude.low & ((Uint128{1} << shift) - 1)) != 0;
        top = magnitude.low >> shift | static_cast<Uint128>(high) << (128 - shift) | (sticky ? 1 : 0);
    }
    const auto power = [](int exponent) { return static_cast<F>(std::int64_t{1} << exponent); };
    const F result = static_cast<F>(static_cast<Kept>(top)) * power(shift / 3) * power(shift / 3) * power(shift - 2 * (shift / 3));
    return value.negative() ? -result : result;
}

/// Decimal digits.
inline std::string to_string(const Int192& value) {
    Int192 magnitude = value.negative() ? value.negated() : value;
    std::uint64_t limbs[3] = {static_cast<std::uint64_t>(magnitude.high), static_cast<std::uint64_t>(magnitude.low >> 64),
                              static_cast<std::uint64_t>(magnitude.low)};
    std::string digits;
    do {
        Uint128 remainder = 0;
        for (std::uint64_t& limb : limbs) {
            remainder = (remainder << 64) | limb;
            limb = static_cast<std::uint64_t>(remainder / 10);
            remainder %= 10;
        }
        digits.push_back(static_cast<char>('0' + static_cast<int>(remainder)));
    } while ((limbs[0] | limbs[1] | limbs[2]) != 0);
    if (value.negative()) { digits.push_back('-'); }
    std::reverse(digits.begin(), digits.end());
    return digits;
}

/// An integral double as an integer; beyond +-2^190, where no sum gets, the power itself (its low bits are zero, as those
/// of every double that large are).
inline Int192 to_int192(double integral) {
    constexpr int kLargest = 190;
    if (std::abs(integral) < std::ldexp(1.0, 63)) { return Int192(static_cast<Int128>(integral)); }
    int exponent = 0;
    const double fraction = std::frexp(std::abs(integral), &exponent);  // |integral| = fraction * 2^exponent, fraction < 1
    Int192 magnitude(0, std::int64_t{1} << (kLargest - 128));
    if (std::isfinite(integral) && exponent <= kLargest) {
        const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, 64));
        const int shift = exponent - 64;  // 0 to 126, because 2^63 <= |integral| < 2^190
        const Uint128 wide = significand;
        magnitude =
            shift < 64 ? Int192(wide << shift, 0) : Int192(wide << shift, static_cast<std::int64_t>((wide << (shift - 64)) >> 64));
    }
    return integral < 0 ? magnitude.negated() : magnitude;
}

/// Whether T holds the value.
template <class T>
bool fits(const Int192& value) {
    if constexpr (std::is_same_v<T, std::uint64_t>) {
        return value.high == 0 && (value.low >> 64) == 0;
    } else {
        return value.fits_64() && static_cast<std::int64_t>(static_cast<T>(value.low)) == static_cast<std::int64_t>(value.low);
    }
}

}  // namespace tapline::core
