// Exact sums of integers on their way to outputs: what kernels need of a problem's epilogue. Host code reads it too.
#pragma once

#include "core/problem/int_range.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::integer {

/// Two's complement in 192 bits, the lowest first.
struct Sum {
    std::uint64_t low = 0, middle = 0;
    std::int64_t high = 0;
};

inline Sum sum_of(const core::Int192& value) {
    return {static_cast<std::uint64_t>(value.low), static_cast<std::uint64_t>(value.low >> 64), value.high};
}
inline core::Int192 value_of(const Sum& sum) { return {static_cast<core::Uint128>(sum.middle) << 64 | sum.low, sum.high}; }

/// cast(clamp(scale * sum + bias)), as cpu::IntegerEpilogue.
struct Finish {
    Dtype output_type;
    std::int32_t output_bytes;
    std::int32_t scaled, clamped;
    std::int32_t wraps;             // an integer that its type cannot hold keeps its low bits
    double scale, bias, low, high;  // the limits as given
    Sum low_int, high_int;          // rounded half to even; of a floating output: the least and greatest integer inside
};
Finish finish_of(const Problem& p);

/// What is known of all sums before there are any, from the taps' values.
struct Bound {
    double largest = 0;  // magnitude of a sum, not less than exact
    bool never_negative = false;
};
/// `taps`: problem.filters rows of problem.taps() taps, 64 bits each; null: any.
Bound bound_of(const Problem& p, const void* taps);

/// Whether the problem says how large its taps are; the bound that follows. Of taps of ordinary size where it does not.
bool knows_taps(const Problem& p);
Bound likely_bound(const Problem& p);

/// Whether only the low bits of a sum reach the output.
bool keeps_low_bits(const Problem& p);

/// Bits of a sum that reach the output: 64 where only so many low ones do, or all others are its sign; else 192.
int sum_bits(const Problem& p, const Bound& bound);

/// Whether some output might not fit its type, which is an error then.
bool may_overflow(const Problem& p, const Bound& bound);

/// Bits of a type, and whether it has a sign.
inline int bits_of(Dtype type) { return type == kBoolean ? 1 : 8 * stored_bytes(type); }
inline bool is_signed(Dtype type) { return type == kI8 || type == kI16 || type == kI32 || type == kI64; }

}  // namespace tapline::cuda::integer
