#include "cuda/families/integer/integer_finish.hpp"

#include <algorithm>
#include <cmath>

#include "core/problem/taps_facts.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda::integer {
namespace {

bool is_scaled(const Problem& p) { return p.scale != 1 || p.bias != 0; }

}  // namespace

bool keeps_low_bits(const Problem& p) {
    return p.overflow == Overflow::wrap && !is_scaled(p) && !p.has_clamp && is_integer(p.output_dtype) &&
           p.output_dtype != kBoolean;
}

Finish finish_of(const Problem& p) {
    Finish f{};
    f.output_type = p.output_dtype;
    f.output_bytes = stored_bytes(p.output_dtype);
    f.scaled = is_scaled(p);
    f.clamped = p.has_clamp;
    f.wraps = p.overflow == Overflow::wrap;
    f.scale = p.scale;
    f.bias = p.bias;
    f.low = p.has_clamp ? p.clamp.low : -HUGE_VAL;
    f.high = p.has_clamp ? p.clamp.high : HUGE_VAL;
    const bool integers = is_integer(p.output_dtype);
    f.low_int = sum_of(core::to_int192(integers ? std::nearbyint(f.low) : std::ceil(f.low)));
    f.high_int = sum_of(core::to_int192(integers ? std::nearbyint(f.high) : std::floor(f.high)));
    return f;
}

Bound bound_of(const Problem& p, const void* taps) {
    constexpr double kRoundedUp = 1 + 0x1p-40;  // sums of fewer than 2^12 roundings for each bit, and of those of 64 bits
    const bool whole = p.taps_dtype == kU64;
    const std::int64_t count = p.taps();
    Bound bound;
    bound.never_negative = !is_signed(p.dtype);
    if (taps == nullptr) {
        bound.largest = static_cast<double>(count) * 0x1p64;
        bound.never_negative = bound.never_negative && whole;
    }
    const auto* const all = static_cast<const std::int64_t*>(taps);
    for (std::int64_t f = 0; taps != nullptr && f < p.filters; ++f) {
        double sum = 0;
        for (std::int64_t t = f * count; t < (f + 1) * count; ++t) {
            sum += whole ? static_cast<double>(static_cast<std::uint64_t>(all[t])) : std::abs(static_cast<double>(all[t]));
            bound.never_negative = bound.never_negative && (whole || all[t] >= 0);
        }
        bound.largest = std::max(bound.largest, sum);
    }
    const int bits = bits_of(p.dtype) - (is_signed(p.dtype) ? 1 : 0);
    bound.largest *= std::ldexp(kRoundedUp, bits) + (is_signed(p.dtype) ? 0 : -1);
    return bound;
}

bool knows_taps(const Problem& p) { return p.bits_of_taps != core::TapsFacts::kUnknownBits; }

Bound likely_bound(const Problem& p) {
    constexpr double kOrdinary = 0x1p15;
    const bool is_unsigned = !is_signed(p.dtype);
    const double largest = std::ldexp(1.0, bits_of(p.dtype) - (is_unsigned ? 0 : 1)) - (is_unsigned ? 1 : 0);
    const double taps = knows_taps(p) ? std::ldexp(1.0, p.bits_of_taps) : kOrdinary * static_cast<double>(p.taps());
    return {.largest = largest * taps, .never_negative = knows_taps(p) && is_unsigned && !p.has_negative_tap};
}

int sum_bits(const Problem& p, const Bound& bound) { return keeps_low_bits(p) || bound.largest < 0x1p63 ? 64 : 192; }

bool may_overflow(const Problem& p, const Bound& bound) {
    if (!is_integer(p.output_dtype) || p.output_dtype == kBoolean) { return false; }
    if (p.overflow == Overflow::wrap && std::isfinite(p.scale) && std::isfinite(p.bias) && !p.has_clamp) { return false; }
    const int bits = bits_of(p.output_dtype) - (is_signed(p.output_dtype) ? 1 : 0);
    const double top = std::ldexp(1.0, bits);
    const double least = is_signed(p.output_dtype) ? -top : 0;
    if (p.has_clamp && std::nearbyint(p.clamp.low) >= least && std::nearbyint(p.clamp.high) < top) { return false; }
    if (is_scaled(p) || bound.largest >= top) { return true; }
    return !is_signed(p.output_dtype) && !bound.never_negative;
}

}  // namespace tapline::cuda::integer
