#include "cpu/integer/integer_limbs.hpp"

#include <algorithm>
#include <cmath>

namespace tapline::cpu {
namespace {

// Bits of limb j if it is balanced.
int width(const Limbs& limbs, int j) {
    const bool last = j + 1 == limbs.count && limbs.modulo_bits != 0;
    return last ? std::min(limbs.base, limbs.modulo_bits - limbs.base * j) : limbs.base;
}

// What makes digits from 0 on of the balanced limbs below limb j.
std::uint64_t bias_below(const Limbs& limbs, int j) {
    std::uint64_t bias = 0;
    for (int i = 0; i < j; ++i) { bias += std::uint64_t{1} << (limbs.base * i + width(limbs, i) - 1); }
    return bias;
}

// A value is below 2^45 (kMostError over the least that proved_error says): so many outputs together stay within 64 bits.
int outputs_together(int base) { return (63 - 46) / std::max(base, 1) + 1; }

constexpr std::int64_t kBlock = 128;

// Calls put(i, parts, count) for each sum: parts[g * kBlock] has the bits from 2^(step g) on.
template <class Put>
void join_wide(const LimbKernels& kernels, const double* const* values, int outputs, int base, std::int64_t count, const Put& put) {
    const int together = outputs_together(base);
    const int parts = (outputs + together - 1) / together;
    std::int64_t joined[kMostJoined * kBlock];
    const double* rows[kMostJoined];
    for (std::int64_t i = 0; i < count; i += kBlock) {
        const std::int64_t some = std::min(kBlock, count - i);
        for (int w = 0; w < outputs; ++w) { rows[w] = values[w] + i; }
        for (int g = 0; g < parts; ++g) {
            kernels.join64(joined + g * kBlock, rows + g * together, std::min(together, outputs - g * together), base, some);
        }
        for (std::int64_t at = 0; at < some; ++at) { put(i + at, joined + at, parts, base * together); }
    }
}

// Parts [first, last), the sum of part 2^(step (g - first)) modulo 2^128.
core::Uint128 horner(const std::int64_t* parts, int first, int last, int step) {
    core::Uint128 sum = 0;
    for (int g = last - 1; g >= first; --g) {
        sum = (sum << step) + static_cast<core::Uint128>(static_cast<core::Int128>(parts[g * kBlock]));
    }
    return sum;
}

}  // namespace

// A last limb that is not balanced is (x - those below) / 2^shift. Those below are together less than 2^shift, so that it passes
// 2^(bits - shift) by less than one, and it is an integer.
double Limbs::largest(int j, int bits) const {
    const bool is_rest = j + 1 == count && modulo_bits == 0;
    if (!is_rest) { return std::ldexp(1.0, width(*this, j) - 1); }
    return std::ldexp(1.0, std::max(bits - base * j, 0));
}

Limb::Limb(const Limbs& limbs, int j, bool of_unsigned)
    : shift(limbs.base * j), rest(j + 1 == limbs.count && limbs.modulo_bits == 0), unsigned_values(of_unsigned) {
    const int bits = rest ? shift : width(limbs, j);
    mask = (std::uint64_t{1} << bits) - 1;
    bias = bias_below(limbs, rest ? j : j + 1);
    half = rest ? 0 : std::int64_t{1} << (bits - 1);
}

void join128(const LimbKernels& kernels, core::Int128* sums, const double* const* values, int outputs, int base,
             std::int64_t count) {
    join_wide(kernels, values, outputs, base, count,
              [sums](std::int64_t i, const std::int64_t* parts, int count_of_parts, int step) {
                  sums[i] = static_cast<core::Int128>(horner(parts, 0, count_of_parts, step));
              });
}

// In two groups of parts, of which the lower one fits 128 bits.
void join192(const LimbKernels& kernels, core::Int192* sums, const double* const* values, int outputs, int base,
             std::int64_t count) {
    join_wide(kernels, values, outputs, base, count,
              [sums](std::int64_t i, const std::int64_t* parts, int count_of_parts, int step) {
                  const int lower = std::min(count_of_parts, (127 - 64) / step + 1);
                  core::Int192 sum(static_cast<core::Int128>(horner(parts, 0, lower, step)));
                  if (lower < count_of_parts) {
                      const int shift = step * lower;  // at least 64, below 128
                      const core::Uint128 upper = horner(parts, lower, count_of_parts, step);
                      sum.add(upper << shift, static_cast<std::int64_t>(static_cast<core::Int128>(upper) >> (128 - shift)));
                  }
                  sums[i] = sum;
              });
}

}  // namespace tapline::cpu
