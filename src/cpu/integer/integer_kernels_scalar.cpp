// The integer kernels in plain C++: the scalar target, and the accumulators that no SIMD instruction set has.
#include <type_traits>

#include "cpu/integer/integer_kernels.hpp"

namespace tapline::cpu {
namespace {

// Sums modulo 2^bits of Acc are formed in the unsigned type, where wrapping is defined.
template <class Acc, class X>
void wrapping(Acc* acc, const X* x, const X* h, std::int64_t outputs, std::int64_t taps) {
    using U = std::make_unsigned_t<Acc>;
    constexpr std::int64_t kTogether = 8;
    for (std::int64_t o = 0; o < outputs; o += kTogether) {
        U sums[kTogether] = {};
        for (std::int64_t t = 0; t < taps; ++t) {
            const U tap = static_cast<U>(h[t]);
            for (std::int64_t i = 0; i < kTogether; ++i) { sums[i] += tap * static_cast<U>(x[o + t + i]); }
        }
        for (std::int64_t i = 0; i < kTogether; ++i) { acc[o + i] = static_cast<Acc>(static_cast<U>(acc[o + i]) + sums[i]); }
    }
}

void pairs16(std::int32_t* acc, const std::int32_t* x, const std::int32_t* h, std::int64_t outputs, std::int64_t pairs) {
    for (std::int64_t o = 0; o < outputs; ++o) {
        std::uint32_t sum = static_cast<std::uint32_t>(acc[o]);
        for (std::int64_t p = 0; p < pairs; ++p) {
            const std::int32_t sample = x[o + 2 * p];
            const std::int32_t tap = h[p];
            sum += static_cast<std::uint32_t>(static_cast<std::int16_t>(sample) * static_cast<std::int16_t>(tap));
            sum += static_cast<std::uint32_t>((sample >> 16) * (tap >> 16));
        }
        acc[o] = static_cast<std::int32_t>(sum);
    }
}

// Four outputs share each tap: 8 registers of sums, 4 multiplications in flight.
template <class Factor, class Wide>
void accumulate128_as(core::Uint128* acc, const std::int64_t* x, const std::int64_t* h, std::int64_t outputs, std::int64_t taps) {
    for (std::int64_t o = 0; o < outputs; o += 4) {
        core::Uint128 s0 = acc[o], s1 = acc[o + 1], s2 = acc[o + 2], s3 = acc[o + 3];
        const auto product = [&](std::int64_t i, Wide tap) {
            return static_cast<core::Uint128>(static_cast<Wide>(static_cast<Factor>(x[i])) * tap);
        };
        for (std::int64_t t = 0; t < taps; ++t) {
            const Wide tap = static_cast<Wide>(static_cast<Factor>(h[t]));
            s0 += product(o + t, tap);
            s1 += product(o + t + 1, tap);
            s2 += product(o + t + 2, tap);
            s3 += product(o + t + 3, tap);
        }
        acc[o] = s0, acc[o + 1] = s1, acc[o + 2] = s2, acc[o + 3] = s3;
    }
}

}  // namespace

const IntegerKernels& integer_kernels_scalar() {
    static constexpr IntegerKernels kKernels = {pairs16, wrapping<std::int32_t, std::int32_t>, wrapping<std::int64_t, std::int64_t>,
                                                wrapping<std::int64_t, std::int64_t>};
    return kKernels;
}

void accumulate128(core::Int128* acc, const std::int64_t* x, const std::int64_t* h, std::int64_t outputs, std::int64_t taps,
                   bool unsigned_values) {
    auto* const bits = reinterpret_cast<core::Uint128*>(acc);  // wraps without undefined behaviour
    if (unsigned_values) {
        accumulate128_as<std::uint64_t, core::Uint128>(bits, x, h, outputs, taps);
    } else {
        accumulate128_as<std::int64_t, core::Int128>(bits, x, h, outputs, taps);
    }
}

void accumulate192(core::Int192* acc, const std::int64_t* x, const std::int64_t* h, std::int64_t outputs, std::int64_t taps,
                   bool unsigned_values) {
    for (std::int64_t o = 0; o < outputs; ++o) {
        core::Int192 sum = acc[o];
        for (std::int64_t t = 0; t < taps; ++t) {
            if (unsigned_values) {
                sum.add(static_cast<core::Uint128>(static_cast<std::uint64_t>(x[o + t])) * static_cast<std::uint64_t>(h[t]), 0);
            } else {
                sum.add(core::Int192(static_cast<core::Int128>(x[o + t]) * h[t]));
            }
        }
        acc[o] = sum;
    }
}

}  // namespace tapline::cpu
