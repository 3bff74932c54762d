#include "cpu/integer/integer_levels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/problem/elements.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {
namespace {

constexpr core::Int128 kNever = -1;
constexpr core::Int128 kAlways = std::numeric_limits<std::uint64_t>::max();
constexpr core::Int128 kInt16Bits = 0x7fff;      // or_bits at most this: the samples fit int16
constexpr core::Int128 kInt32Bits = 0x7fffffff;  // int32

// What decides about a filter.
struct Size {
    core::Uint128 sum = 0;  // sum |taps|: below 2^120, as there are fewer than 2^56 taps
    bool fits_16 = true;
    bool fits_32 = true;
};

Size size_of_taps(const std::int64_t* taps, std::int64_t k, bool unsigned_values) {
    Size size;
    for (std::int64_t t = 0; t < k; ++t) {
        const std::int64_t tap = taps[t];
        const bool negative = !unsigned_values && tap < 0;
        size.sum += negative ? ~static_cast<std::uint64_t>(tap) + core::Uint128{1} : static_cast<std::uint64_t>(tap);
        const bool huge = unsigned_values && tap < 0;  // a u64 above the range of int64
        size.fits_16 = size.fits_16 && !huge && tap == static_cast<std::int16_t>(tap);
        size.fits_32 = size.fits_32 && !huge && tap == static_cast<std::int32_t>(tap);
    }
    return size;
}

// |x| <= or_bits + 1, so |sum| <= sum|taps| * (or_bits + 1): the largest or_bits that keep this within 2^bits - 1.
core::Int128 within(int bits, core::Uint128 sum_of_taps) {
    const core::Uint128 largest = (core::Uint128{1} << bits) - 1;
    const core::Uint128 samples = largest / std::max<core::Uint128>(sum_of_taps, 1);
    return std::min(static_cast<core::Int128>(samples) - 1, kAlways);
}

}  // namespace

const char* to_string(Level level) {
    constexpr const char* kNames[] = {
        "int32 (pairs of int16 products)", "int32", "int64 (int32 factors)", "int64", "int128", "int192"};
    static_assert(std::size(kNames) == kLevels);
    return kNames[static_cast<int>(level)];
}

double seconds_of_product(Level level) {
    // One core, 1,000 taps on 30,000 samples: with AVX2; AVX-512 from sweeps of 3 to 511 taps, the others by their vectors'
    // lengths.
    static constexpr std::array<TargetSeconds, kLevels> kNs = {{
        {.avx512 = 0.0165, .avx2 = 0.0174, .sse4 = 0.035, .neon = 0.035, .scalar = 0.3},
        {.avx512 = 0.03, .avx2 = 0.035, .sse4 = 0.07, .neon = 0.07, .scalar = 0.3},
        {.avx512 = 0.06, .avx2 = 0.068, .sse4 = 0.14, .neon = 0.14, .scalar = 0.4},
        {.avx512 = 0.12, .avx2 = 0.175, .sse4 = 0.35, .neon = 0.35, .scalar = 0.4},
        {.avx512 = 0.9, .avx2 = 0.9, .sse4 = 0.9, .neon = 0.9, .scalar = 0.9},
        {.avx512 = 1.4, .avx2 = 1.4, .sse4 = 1.4, .neon = 1.4, .scalar = 1.4},
    }};
    return 1e-9 * kNs[static_cast<std::size_t>(level)].of(current_target());
}

std::uint64_t or_bits_of(Dtype dtype) {
    return core::with_integer_type(dtype, []<class T>(T) { return static_cast<std::uint64_t>(std::numeric_limits<T>::max()); });
}

int bits_of(std::uint64_t or_bits) { return std::bit_width(or_bits); }

Level level_of(const core::TapsFacts& facts, int bits, int modulo_bits) {
    const double most = std::ldexp(facts.sum_of_taps, bits);
    const auto sums_fit = [&](int width) {
        return (modulo_bits != 0 && modulo_bits <= width + 1) || most < std::ldexp(1.0, width);
    };
    if (facts.largest_tap < 0x1p15 && bits <= 15 && sums_fit(31)) { return Level::pairs16; }
    if (sums_fit(31)) { return Level::low32; }
    if (facts.largest_tap < 0x1p31 && bits <= 31 && sums_fit(63)) { return Level::wide32; }
    return sums_fit(63) ? Level::low64 : sums_fit(127) ? Level::wide128 : Level::wide192;
}

int likely_bits(const core::Resolved& problem, const core::TapsFacts& facts, int modulo_bits) {
    const int bits = bits_of(or_bits_of(problem.dtype));
    const bool may_overflow = is_integer(problem.output_dtype) && problem.output_dtype != Dtype::boolean && !problem.has_clamp &&
                              problem.scale == 1 && modulo_bits == 0;
    if (!may_overflow) { return bits; }
    const int room = bits_of(or_bits_of(problem.output_dtype)) - static_cast<int>(std::log2(std::max(facts.norm_of_taps, 1.0)));
    return std::clamp(room, 1, bits);
}

IntegerTaps::IntegerTaps(const std::int64_t* taps, std::int64_t k, bool unsigned_values, int modulo_bits) : wide_(taps, taps + k) {
    const Size size = size_of_taps(taps, k, unsigned_values);
    const core::Int128 sum_32 = modulo_bits == 32 ? kAlways : within(31, size.sum);
    const core::Int128 sum_64 = modulo_bits != 0 ? kAlways : within(63, size.sum);
    const auto set = [&](Level level, core::Int128 reach) { reach_[static_cast<std::size_t>(level)] = reach; };
    set(Level::pairs16, size.fits_16 ? std::min(sum_32, kInt16Bits) : kNever);
    set(Level::low32, sum_32);
    set(Level::wide32, size.fits_32 ? std::min(sum_64, kInt32Bits) : kNever);
    set(Level::low64, sum_64);
    set(Level::wide128, within(127, size.sum));
    set(Level::wide192, kAlways);

    if (reach_[static_cast<std::size_t>(Level::low32)] >= 0) {
        narrow_.resize(static_cast<std::size_t>(k));
        std::transform(taps, taps + k, narrow_.begin(), [](std::int64_t tap) { return static_cast<std::int32_t>(tap); });
    }
    if (reach_[static_cast<std::size_t>(Level::pairs16)] >= 0) {
        pairs_.resize(static_cast<std::size_t>((k + 1) / 2));
        for (std::int64_t t = 0; t < k; t += 2) {
            const auto first = static_cast<std::uint16_t>(taps[t]);
            const auto second = static_cast<std::uint16_t>(t + 1 < k ? taps[t + 1] : 0);
            pairs_[static_cast<std::size_t>(t / 2)] = static_cast<std::int32_t>(first | static_cast<std::uint32_t>(second) << 16);
        }
    }
}

Level IntegerTaps::level(std::uint64_t or_bits) const {
    const auto bits = static_cast<core::Int128>(or_bits);
    int level = 0;
    while (reach_[static_cast<std::size_t>(level)] < bits) { ++level; }
    return static_cast<Level>(level);
}

}  // namespace tapline::cpu
