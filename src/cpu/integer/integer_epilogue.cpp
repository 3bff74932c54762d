#include "cpu/integer/integer_epilogue.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/problem/overflow.hpp"
#include "cpu/element_types.hpp"
#include "tapline/error.hpp"

namespace tapline::cpu {
namespace {

template <class Out>
inline constexpr bool kIsInteger = std::is_integral_v<Out>;

core::Int192 widen(std::int32_t sum) { return core::Int192(static_cast<core::Int128>(sum)); }
core::Int192 widen(std::int64_t sum) { return core::Int192(static_cast<core::Int128>(sum)); }
core::Int192 widen(core::Int128 sum) { return core::Int192(sum); }
core::Int192 widen(const core::Int192& sum) { return sum; }

// The low 64 bits of an integral value, as two's complement keeps them. fmod is exact.
std::uint64_t low_bits(long double integral) {
    const long double rest = std::fmod(integral, std::ldexp(1.0L, 64));
    return rest < 0 ? ~static_cast<std::uint64_t>(-rest) + 1 : static_cast<std::uint64_t>(rest);
}

// Half to even, as nearbyint but without its call: adding 1.5 * 2^(digits - 1) leaves no bits for a fraction. For
// |value| < 2^(digits - 2).
template <class F>
F round_to_even(F value) {
    constexpr F kNoFraction = F{3} * static_cast<F>(core::Int128{1} << (std::numeric_limits<F>::digits - 2));
    return (value + kNoFraction) - kNoFraction;
}

template <class Out>
bool holds(long double integral) {
    constexpr int kBits = std::numeric_limits<Out>::digits;  // without the sign
    const long double limit = std::ldexp(1.0L, kBits);
    return integral < limit && integral >= (std::is_signed_v<Out> ? -limit : 0.0L);
}

// scale * sum + bias is exact in double below 2^32: for powers of two that keep 20 bits behind the point, and such biases.
bool is_exact_in_double(double scale, double bias) {
    int exponent = 0;
    const bool power_of_two = std::abs(std::frexp(scale, &exponent)) == 0.5 && exponent > -20 && exponent < 20;
    const double units = std::ldexp(bias, 20);
    return power_of_two && std::abs(bias) < std::ldexp(1.0, 32) && units == std::floor(units);
}

// Sums as they are. Returns whether all fit: narrowing and widening again gives the same number.
template <class Out, class Acc>
bool cast_all(Out* out, std::int64_t stride, const Acc* sums, std::int64_t count) {
    if constexpr (std::is_same_v<Out, bool>) {
        for (std::int64_t i = 0; i < count; ++i) { out[i * stride] = sums[i] != 0; }
        return true;
    } else if constexpr (!kIsInteger<Out>) {
        for (std::int64_t i = 0; i < count; ++i) { out[i * stride] = static_cast<Out>(sums[i]); }
        return true;
    } else {
        Acc lost = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const Out value = static_cast<Out>(sums[i]);
            out[i * stride] = value;
            if constexpr (std::is_unsigned_v<Out> && sizeof(Out) >= sizeof(Acc)) {
                lost |= sums[i] < 0 ? Acc{1} : Acc{0};
            } else {
                lost |= static_cast<Acc>(value) ^ sums[i];
            }
        }
        return lost == 0;
    }
}

}  // namespace

bool OverflowLog::before(std::int64_t row, std::int64_t output) {
    if (!any_.load(std::memory_order_relaxed)) { return false; }
    const std::lock_guard lock(mutex_);
    return std::tie(row_, output_) < std::tie(row, output);
}

void OverflowLog::report(std::int64_t row, std::int64_t output, std::string value) {
    const std::lock_guard lock(mutex_);
    if (std::tie(row, output) < std::tie(row_, output_)) {
        row_ = row;
        output_ = output;
        value_ = std::move(value);
    }
    any_.store(true, std::memory_order_relaxed);
}

void OverflowLog::check(const core::Resolved& problem) const {
    if (!any_.load(std::memory_order_relaxed)) { return; }
    throw Error(ErrorCode::argument, core::overflow_text(problem, row_, output_, value_));
}

IntegerEpilogue::IntegerEpilogue(const core::Resolved& problem)
    : output_dtype_(problem.output_dtype),
      wrap_(problem.overflow == Overflow::wrap),
      scaled_(problem.scale != 1 || problem.bias != 0),
      clamped_(problem.has_clamp),
      scale_(problem.scale),
      bias_(problem.bias) {
    // Two roundings of 2^-53 each and long double's own of 2^-64, doubled.
    doubt_ = is_exact_in_double(scale_, bias_) ? 0 : std::ldexp(1.0, -51);
    const Clamp clamp = clamped_ ? problem.clamp : Clamp{-HUGE_VAL, HUGE_VAL};
    low_ = clamp.low;
    high_ = clamp.high;
    const bool integer_output = is_integer(output_dtype_);
    low_int_ = core::to_int192(integer_output ? std::nearbyint(low_) : std::ceil(low_));
    high_int_ = core::to_int192(integer_output ? std::nearbyint(high_) : std::floor(high_));
    integral_limits_ = integer_output || (low_ == std::ceil(low_) && high_ == std::floor(high_));
    if (wrap_ && !scaled_ && !clamped_ && integer_output && output_dtype_ != Dtype::boolean) {
        modulo_bits_ = size_of(output_dtype_) <= 4 ? 32 : 64;
    }
}

// Clamps narrow sums in place, if what the limits become is exact in Acc.
template <class Acc>
bool IntegerEpilogue::clamp_first(Acc* sums, std::int64_t count) const {
    const core::Int192 least = widen(std::numeric_limits<Acc>::min());
    const core::Int192 greatest = widen(std::numeric_limits<Acc>::max());
    if (!integral_limits_ || greatest < low_int_ || high_int_ < least) { return false; }
    const auto low = static_cast<Acc>((low_int_ < least ? least : low_int_).low);
    const auto high = static_cast<Acc>((greatest < high_int_ ? greatest : high_int_).low);
    for (std::int64_t i = 0; i < count; ++i) { sums[i] = std::min(std::max(sums[i], low), high); }
    return true;
}

// One output; false, with the value printed, if it does not fit.
template <class Out>
bool IntegerEpilogue::finish(const core::Int192& sum, Out& result, std::string* value) const {
    if (scaled_) { return finish_scaled(sum, result, value); }
    if constexpr (!kIsInteger<Out>) {
        result = core::to_floating<Out>(sum);
        if (clamped_ && sum < low_int_) { result = static_cast<Out>(low_); }
        if (clamped_ && high_int_ < sum) { result = static_cast<Out>(high_); }
        return true;
    } else {
        core::Int192 clamped = sum;
        if (clamped_ && sum < low_int_) { clamped = low_int_; }
        if (clamped_ && high_int_ < clamped) { clamped = high_int_; }
        if constexpr (std::is_same_v<Out, bool>) {
            result = !clamped.is_zero();
            return true;
        } else {
            result = static_cast<Out>(clamped.low);
            if (wrap_ || core::fits<Out>(clamped)) { return true; }
            *value = core::to_string(clamped);
            return false;
        }
    }
}

long double IntegerEpilogue::scaled(const core::Int192& sum) const { return core::to_floating<long double>(sum) * scale_ + bias_; }

template <class Out>
bool IntegerEpilogue::finish_scaled(const core::Int192& sum, Out& result, std::string* value) const {
    long double r = scaled(sum);
    if (clamped_) {
        r = r < low_ ? static_cast<long double>(low_) : r;  // NaN passes
        r = r > high_ ? static_cast<long double>(high_) : r;
    }
    if constexpr (!kIsInteger<Out>) {
        result = static_cast<Out>(r);
        return true;
    } else {
        r = std::isnan(r) ? 0.0L : std::nearbyint(r);
        if constexpr (std::is_same_v<Out, bool>) {
            result = r != 0;
            return true;
        } else {
            if (holds<Out>(r) || (wrap_ && std::isfinite(r))) {
                result = static_cast<Out>(low_bits(r));
                return true;
            }
            result = 0;
            *value = core::printed(r);
            return false;
        }
    }
}

// The scaled, clamped and rounded values of narrow sums, if all are below 2^50. Most are found in double: where its error
// cannot move the value across a tie, it rounds as long double does (2 ns an output instead of 200 with nearbyint and fmod).
template <class Acc>
bool IntegerEpilogue::round_scaled(std::int64_t* rounded, const Acc* sums, std::int64_t count) const {
    constexpr double kLimit = 4294967296.0;             // 2^32: is_exact_in_double
    constexpr long double kWide = 1125899906842624.0L;  // 2^50
    for (std::int64_t i = 0; i < count; ++i) {
        const double sum = static_cast<double>(sums[i]);
        const double product = sum * scale_;
        const double value = product + bias_;
        const double nearest = round_to_even(value);
        if (std::abs(sum) < kLimit && std::abs(value) < kLimit &&
            0.5 - std::abs(value - nearest) >= doubt_ * (std::abs(product) + std::abs(value))) {
            rounded[i] = static_cast<std::int64_t>(nearest);
            continue;
        }
        const long double careful = scaled(widen(sums[i]));
        if (!(std::abs(careful) < kWide)) { return false; }
        rounded[i] = static_cast<std::int64_t>(round_to_even(careful));
    }
    return !clamped_ || clamp_first(rounded, count);  // rounding is monotone: it may come before the rounded limits
}

// One by one, stopping at the first that does not fit.
template <class Out, class Acc>
bool IntegerEpilogue::finish_all(Out* out, std::int64_t stride, std::int64_t row, std::int64_t first, std::int64_t count,
                                 const Acc* sums, OverflowLog& log) const {
    std::string value;
    for (std::int64_t i = 0; i < count; ++i) {
        if (!finish(widen(sums[i]), out[i * stride], &value)) {
            log.report(row, first + i, std::move(value));
            return false;
        }
    }
    return true;
}

template <class Out, class Acc>
void IntegerEpilogue::store_scaled(Out* out, std::int64_t stride, std::int64_t row, std::int64_t first, std::int64_t count,
                                   const Acc* sums, OverflowLog& log) const {
    constexpr std::int64_t kBlock = 256;
    std::int64_t rounded[kBlock];
    for (std::int64_t i = 0; i < count; i += kBlock) {
        const std::int64_t part = std::min(kBlock, count - i);
        if (round_scaled(rounded, sums + i, part) && (cast_all(out + i * stride, stride, rounded, part) || wrap_)) { continue; }
        if (!finish_all(out + i * stride, stride, row, first + i, part, sums + i, log)) { return; }
    }
}

// Wide sums a block at a time, those of a block that fit 64 bits as such.
template <class Out, class Acc>
void IntegerEpilogue::store_wide(const core::Output& output, std::int64_t row, std::int64_t first, std::int64_t count,
                                 const Acc* sums, OverflowLog& log) const {
    Out* const out = static_cast<Out*>(output.data) + row * output.batch_stride + (first - output.first) * output.stride;
    using Floating = std::conditional_t<kIsInteger<Out>, double, Out>;
    constexpr std::int64_t kBlock = 256;
    std::int64_t narrow[kBlock];
    for (std::int64_t i = 0; i < count; i += kBlock) {
        const std::int64_t part = std::min(kBlock, count - i);
        bool all_fit = true;
        for (std::int64_t j = 0; j < part; ++j) {
            const core::Int192 sum = widen(sums[i + j]);
            narrow[j] = static_cast<std::int64_t>(sum.low);
            all_fit = all_fit && sum.fits_64();
        }
        if (all_fit) {
            store_as<Out>(output, row, first + i, part, narrow, log);
        } else if (!kIsInteger<Out> && !scaled_ && !clamped_) {
            for (std::int64_t j = i; j < i + part; ++j) {
                out[j * output.stride] = static_cast<Out>(core::to_floating<Floating>(widen(sums[j])));
            }
        } else if (!finish_all(out + i * output.stride, output.stride, row, first + i, part, sums + i, log)) {
            return;
        }
    }
}

template <class Out, class Acc>
void IntegerEpilogue::store_as(const core::Output& output, std::int64_t row, std::int64_t first, std::int64_t count, Acc* sums,
                               OverflowLog& log) const {
    Out* const out = static_cast<Out*>(output.data) + row * output.batch_stride + (first - output.first) * output.stride;
    if constexpr (std::is_same_v<Acc, core::Int128> || std::is_same_v<Acc, core::Int192>) {
        store_wide<Out>(output, row, first, count, sums, log);
    } else {
        if constexpr (kIsInteger<Out>) {
            if (scaled_) { return store_scaled(out, output.stride, row, first, count, sums, log); }
        }
        if (!scaled_ && (!clamped_ || clamp_first(sums, count))) {
            if (cast_all(out, output.stride, sums, count) || wrap_) { return; }
        }
        finish_all(out, output.stride, row, first, count, sums, log);
    }
}

template <class Acc>
void IntegerEpilogue::store(const core::Output& output, std::int64_t row, std::int64_t first, std::int64_t count, Acc* sums,
                            OverflowLog& log) const {
    const auto put = [&]<class Out>(Out) { store_as<Out>(output, row, first, count, sums, log); };
    if (output_dtype_ == Dtype::f32) { return put(float{}); }
    if (output_dtype_ == Dtype::f64) { return put(double{}); }
    core::with_integer_type(output_dtype_, put);
}

#define TAPLINE_STORE(ACC)                                                                                                       \
    template void IntegerEpilogue::store<ACC>(const core::Output&, std::int64_t, std::int64_t, std::int64_t, ACC*, OverflowLog&) \
        const
TAPLINE_STORE(std::int32_t);
TAPLINE_STORE(std::int64_t);
TAPLINE_STORE(core::Int128);
TAPLINE_STORE(core::Int192);
#undef TAPLINE_STORE

}  // namespace tapline::cpu
