// The longest filters of integers by the rungs for real numbers: what the passes around them are told.
#pragma once

#include <cuda_runtime.h>

#include "cuda/families/common/walk.hpp"
#include "cuda/families/integer/integer_signal.hpp"

namespace tapline::cuda::integer {

/// Numbers as `count` digits with a sign: each but the last of `bits`, and what remains.
struct Parting {
    int count = 1, bits = 64;
};

/// Samples to rows of digits.
struct Split {
    Signal signal;
    Walk walk;
    double* to;
    std::int64_t plane;  ///< from one digit's rows to the next one's
    Parting digits;
};

/// Products of digits to sums, and the last one's sums to outputs.
struct Join {
    Signal signal;
    Walk walk;
    const double* from;
    void* sums;  ///< of 64 or 128 bits; null: there is one product
    int shift;   ///< what the product's unit is: 2^shift
    int is_first, is_last;
};

using SplitKernel = void (*)(Split s);
using JoinKernel = void (*)(Join j);
SplitKernel split_kernel();
/// `wide`: sums of 128 bits, which are those of the outputs, not only their low bits.
JoinKernel join_kernel(bool wide);

/// Takes the lowest digit, of 1 to 63 bits, from a number; of one without a sign only the first.
__host__ __device__ constexpr std::int64_t take_digit(std::int64_t& rest, int bits, bool is_unsigned) {
    const int unused = 64 - bits;
    const std::int64_t digit = static_cast<std::int64_t>(static_cast<std::uint64_t>(rest) << unused) >> unused;
    const std::int64_t above = is_unsigned ? static_cast<std::int64_t>(static_cast<std::uint64_t>(rest) >> bits) : rest >> bits;
    rest = above + (digit < 0 ? 1 : 0);
    return digit;
}

}  // namespace tapline::cuda::integer

namespace tapline::cuda {
const Rung& integer_long();
}  // namespace tapline::cuda
