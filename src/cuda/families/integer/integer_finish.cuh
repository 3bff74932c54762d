// Exact sums of integers become outputs: scale, bias, clamp, and the range of the output's type. As cpu::IntegerEpilogue, bit by
// bit.
#pragma once

#include "cuda/families/integer/soft_float.cuh"

namespace tapline::cuda::integer {

__device__ __forceinline__ bool below(const Sum& a, const Sum& b) {
    if (a.high != b.high) { return a.high < b.high; }
    return a.middle != b.middle ? a.middle < b.middle : a.low < b.low;
}
__device__ __forceinline__ Sum widened(std::int64_t x) {
    const std::int64_t sign = x < 0 ? -1 : 0;
    return {static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(sign), sign};
}

/// Whether an integer type that is not bool holds the number whose low bits are `low`: `sign` is what all others are if 64 bits
/// hold it with a sign.
__device__ __forceinline__ bool holds(Dtype type, std::int64_t low) {
    switch (type) {
        case kI8:
            return static_cast<std::int8_t>(low) == low;
        case kI16:
            return static_cast<std::int16_t>(low) == low;
        case kI32:
            return static_cast<std::int32_t>(low) == low;
        case kU8:
            return static_cast<std::uint8_t>(low) == low;
        case kU16:
            return static_cast<std::uint16_t>(low) == low;
        case kU32:
            return static_cast<std::uint32_t>(low) == low;
        case kI64:
            return true;
        default:
            return low >= 0;
    }
}
__device__ __forceinline__ bool holds(Dtype type, const Sum& sum) {
    if (type == kU64) { return sum.high == 0 && sum.middle == 0; }
    const Sum narrow = widened(static_cast<std::int64_t>(sum.low));
    return narrow.middle == sum.middle && narrow.high == sum.high && holds(type, static_cast<std::int64_t>(sum.low));
}

/// A scaled sum: a number, or an infinity or NaN.
struct Scaled {
    Soft number;
    double other;
    bool is_number;

    __device__ explicit Scaled(double x) : number(isfinite(x) ? soft_of(x) : Soft{}), other(x), is_number(isfinite(x)) {}
    __device__ Scaled(const Finish& f, const Sum& sum) : other(0), is_number(isfinite(f.scale) && isfinite(f.bias)) {
        if (is_number) {
            number = add(multiply(soft_of(sum), soft_of(f.scale)), soft_of(f.bias));
        } else {
            const bool is_zero = (sum.low | sum.middle | static_cast<std::uint64_t>(sum.high)) == 0;
            const double sign = is_zero ? 0 : sum.high < 0 ? -1 : 1;
            other = sign * f.scale + f.bias;
        }
    }
    /// NaN is below nothing.
    [[nodiscard]] __device__ bool is_below(const Scaled& x) const {
        if (is_number && x.is_number) { return below(number, x.number); }
        return (is_number ? 0.0 : other) < (x.is_number ? 0.0 : x.other);
    }
};

/// One output as raw bits; whether its type holds it.
__device__ inline bool finish_scaled(const Finish& f, const Sum& sum, std::uint64_t& raw) {
    Scaled r(f, sum);
    if (f.clamped != 0) {
        const Scaled low(f.low);
        const Scaled high(f.high);
        if (r.is_below(low)) { r = low; }
        if (high.is_below(r)) { r = high; }
    }
    if (f.output_type == kF32) {
        raw = __float_as_uint(r.is_number ? to_float(r.number) : static_cast<float>(r.other));
        return true;
    }
    if (f.output_type == kF64) {
        raw = static_cast<std::uint64_t>(__double_as_longlong(r.is_number ? to_double(r.number) : r.other));
        return true;
    }
    raw = 0;
    if (!r.is_number) {
        const bool is_nan = r.other != r.other;
        raw = f.output_type == kBoolean && !is_nan ? 1 : 0;
        return is_nan || f.output_type == kBoolean;
    }
    // The nearest integer: below 2^64 as such, above only its low bits.
    const bool is_huge = r.number.m != 0 && r.number.e > 0;
    const std::uint64_t magnitude = !is_huge          ? multiples(r.number.m, r.number.e, 0)
                                    : r.number.e < 64 ? r.number.m << r.number.e
                                                      : 0;
    if (f.output_type == kBoolean) {
        raw = is_huge || magnitude != 0 ? 1 : 0;
        return true;
    }
    raw = r.number.negative ? ~magnitude + 1 : magnitude;
    if (f.wraps != 0) { return true; }
    if (is_huge) { return false; }
    const Sum whole = {raw, r.number.negative && magnitude != 0 ? ~std::uint64_t{0} : 0,
                       r.number.negative && magnitude != 0 ? -1 : 0};
    return holds(f.output_type, whole);
}

__device__ inline bool finish_wide(const Finish& f, const Sum& sum, std::uint64_t& raw) {
    if (f.scaled != 0) { return finish_scaled(f, sum, raw); }
    const bool is_low = f.clamped != 0 && below(sum, f.low_int);
    const bool is_high = f.clamped != 0 && below(f.high_int, sum);
    if (f.output_type == kF32) {
        const float limit = static_cast<float>(is_high ? f.high : f.low);
        raw = __float_as_uint(is_high || is_low ? limit : to_float(sticky_soft(sum)));
        return true;
    }
    if (f.output_type == kF64) {
        const double limit = is_high ? f.high : f.low;
        raw = static_cast<std::uint64_t>(__double_as_longlong(is_high || is_low ? limit : to_double(sticky_soft(sum))));
        return true;
    }
    const Sum clamped = is_high ? f.high_int : is_low ? f.low_int : sum;
    if (f.output_type == kBoolean) {
        raw = (clamped.low | clamped.middle | static_cast<std::uint64_t>(clamped.high)) != 0 ? 1 : 0;
        return true;
    }
    raw = clamped.low;
    return f.wraps != 0 || holds(f.output_type, clamped);
}

/// The rest of it all out of line.
__device__ __noinline__ inline bool finish_other(const Finish& f, const Sum& sum, std::uint64_t& raw) {
    return finish_wide(f, sum, raw);
}

__device__ __forceinline__ bool is_plain(const Finish& f) {
    return f.scaled == 0 && f.clamped == 0 && f.output_type != kF32 && f.output_type != kF64 && f.output_type != kBoolean;
}

/// Of a sum that 64 bits hold with a sign, or of which only the low ones matter.
__device__ __forceinline__ bool finish(const Finish& f, std::int64_t sum, std::uint64_t& raw) {
    if (!is_plain(f)) { return finish_other(f, widened(sum), raw); }
    raw = static_cast<std::uint64_t>(sum);
    return f.wraps != 0 || holds(f.output_type, sum);
}
__device__ __forceinline__ bool finish(const Finish& f, const Sum& sum, std::uint64_t& raw) { return finish_other(f, sum, raw); }

}  // namespace tapline::cuda::integer
