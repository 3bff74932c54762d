// 16-bit floating types as the bits they are stored as: IEEE binary16 (f16) and the upper half of a binary32 (bf16).
#pragma once

#include <bit>
#include <cstdint>

namespace tapline::core {

namespace detail {

// The nearest value with so many exponent and mantissa bits, ties to even; overflow gives infinity, subnormals are kept.
template <int kExponentBits, int kMantissaBits>
constexpr std::uint16_t narrowed(double value) {
    constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
    constexpr std::int64_t kInfinity = std::int64_t{(1 << kExponentBits) - 1} << kMantissaBits;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::int64_t>(bits >> 63) << 15;
    const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
    constexpr std::uint64_t kWideInfinity = std::uint64_t{0x7FF} << 52;
    if (magnitude > kWideInfinity) { return static_cast<std::uint16_t>(sign | kInfinity | (1 << (kMantissaBits - 1))); }
    if (magnitude == kWideInfinity) { return static_cast<std::uint16_t>(sign | kInfinity); }
    const int exponent = static_cast<int>(magnitude >> 52) - 1023;
    const int below = exponent < 1 - kBias ? 1 - kBias - exponent : 0;  // binary places below the smallest normal number
    const int dropped = 52 - kMantissaBits + below;
    if (dropped > 53) { return static_cast<std::uint16_t>(sign); }  // less than half of the smallest number
    const std::uint64_t one = std::uint64_t{1} << 52;
    const std::uint64_t significand = (magnitude & (one - 1)) | one;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << dropped) - 1);
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    std::uint64_t kept = significand >> dropped;
    kept += rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
    // A normal number's leading one adds 1 to the exponent field; so does a mantissa that was rounded up past its end.
    const std::int64_t field = below > 0 ? 0 : exponent + kBias - 1;
    const std::int64_t result = (field << kMantissaBits) + static_cast<std::int64_t>(kept);
    return static_cast<std::uint16_t>(sign | (result < kInfinity ? result : kInfinity));
}

}  // namespace detail

/// The nearest f16, ties to even. A float converts through double without a second rounding.
constexpr std::uint16_t to_f16(double value) { return detail::narrowed<5, 10>(value); }

/// The nearest bf16, ties to even.
constexpr std::uint16_t to_bf16(double value) { return detail::narrowed<8, 7>(value); }

/// Exact.
constexpr float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// Exact.
constexpr float from_f16(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1FU;
    const std::uint32_t mantissa = bits & 0x3FFU;
    if (exponent == 0) {  // mantissa * 2^-24
        const float size = static_cast<float>(mantissa) * 0x1p-24F;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
    }
    const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + (127 - 15);
    return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

}  // namespace tapline::core
