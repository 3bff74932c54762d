// The inner loops of integer convolution.
#pragma once

#include <cstdint>

#include "core/problem/int_range.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {

/// Kernels compute acc[o] += sum_{t < taps} h[t] * x[o + t] for 0 <= o < outputs. `outputs` is a multiple of kOutputBlock and
/// x holds outputs + taps elements. All arithmetic wraps, so a result is exact if the final sum fits, whatever the
/// intermediate sums are.
inline constexpr std::int64_t kOutputBlock = 128;

struct IntegerKernels {
    /// Modulo 2^32. Element x[i] holds samples i (low half) and i + 1 (high half) as 16-bit integers, h[p] taps 2p and
    /// 2p + 1: one multiply-add instruction takes two taps. Reads x[o + 2p]; `taps` counts pairs.
    void (*pairs16)(std::int32_t* acc, const std::int32_t* x, const std::int32_t* h, std::int64_t outputs, std::int64_t pairs);
    /// Modulo 2^32.
    void (*low32)(std::int32_t* acc, const std::int32_t* x, const std::int32_t* h, std::int64_t outputs, std::int64_t taps);
    /// Modulo 2^64; samples and taps fit int32.
    void (*wide32)(std::int64_t* acc, const std::int64_t* x, const std::int64_t* h, std::int64_t outputs, std::int64_t taps);
    /// Modulo 2^64.
    void (*low64)(std::int64_t* acc, const std::int64_t* x, const std::int64_t* h, std::int64_t outputs, std::int64_t taps);
};

const IntegerKernels& integer_kernels(Target target);
const IntegerKernels& integer_kernels_scalar();

/// The same for wider sums, on the scalar 64 x 64 -> 128 bit multiplier. `unsigned_values`: x and h are bits of u64.
void accumulate128(core::Int128* acc, const std::int64_t* x, const std::int64_t* h, std::int64_t outputs, std::int64_t taps,
                   bool unsigned_values);
void accumulate192(core::Int192* acc, const std::int64_t* x, const std::int64_t* h, std::int64_t outputs, std::int64_t taps,
                   bool unsigned_values);

}  // namespace tapline::cpu
