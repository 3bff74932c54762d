// Which accumulator is wide enough for which samples, and the taps in the form that each needs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/problem/int_range.hpp"
#include "core/problem/resolved.hpp"
#include "core/problem/taps_facts.hpp"

namespace tapline::cpu {

/// Accumulators, cheapest first; the kernels of integer_kernels.hpp.
enum class Level { pairs16, low32, wide32, low64, wide128, wide192 };
inline constexpr int kLevels = 6;
const char* to_string(Level level);

/// Of one product and its addition, on one thread.
double seconds_of_product(Level level);

/// The `or_bits` of samples: the bitwise or of x (unsigned types) or of x ^ (x >> 63) (signed ones: x or -x - 1). At most
/// twice the largest of them, and cheaper to find; exact about how many bits the samples need.
template <class T>
std::uint64_t or_bits(const T* samples, std::int64_t count) {
    T bits = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_signed_v<T>) {
            bits = static_cast<T>(bits | (samples[i] ^ (samples[i] >> (8 * sizeof(T) - 1))));
        } else {
            bits = static_cast<T>(bits | samples[i]);
        }
    }
    return static_cast<std::uint64_t>(bits);
}

/// Of the largest magnitude 2^bits that samples with these or_bits may have.
int bits_of(std::uint64_t or_bits);

/// The or_bits that samples of an integer dtype can have.
std::uint64_t or_bits_of(Dtype dtype);

/// The level of samples of magnitude up to 2^bits by what is known of filters: the one that suits all.
Level level_of(const core::TapsFacts& facts, int bits, int modulo_bits);

/// Of samples that a problem may have: the most for which its sums fit the output, or all that their type has.
int likely_bits(const core::Resolved& problem, const core::TapsFacts& facts, int modulo_bits);

/// One filter in every form that some level needs; k taps in correlation order.
class IntegerTaps {
public:
    /// `modulo_bits`: 32 or 64 if only so many low bits of the sums matter (wrapped output as it is), else 0: the whole sum.
    IntegerTaps(const std::int64_t* taps, std::int64_t k, bool unsigned_values, int modulo_bits);

    /// The cheapest level whose sums of samples with these or_bits are exact (modulo 2^modulo_bits).
    [[nodiscard]] Level level(std::uint64_t or_bits) const;

    [[nodiscard]] const std::int32_t* pairs(std::int64_t tap) const { return pairs_.data() + tap / 2; }  ///< tap is even
    [[nodiscard]] const std::int32_t* narrow(std::int64_t tap) const { return narrow_.data() + tap; }
    [[nodiscard]] const std::int64_t* wide(std::int64_t tap) const { return wide_.data() + tap; }

private:
    // The largest or_bits that a level takes, -1 for none.
    std::array<core::Int128, kLevels> reach_{};
    std::vector<std::int32_t> pairs_;
    std::vector<std::int32_t> narrow_;
    std::vector<std::int64_t> wide_;
};

}  // namespace tapline::cpu
