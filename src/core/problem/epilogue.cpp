#include "core/problem/epilogue.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/problem/elements.hpp"

namespace tapline::core {
namespace {

// Round to even, saturate, NaN to 0. The limits as T: 2^(bits-1) is exact in every floating type, its predecessor is not.
template <class To, class From>
To saturate(From value) {
    if (std::isnan(value)) { return 0; }
    const From rounded = std::nearbyint(value);
    constexpr int kBits = std::numeric_limits<To>::digits;  // without the sign
    if (rounded >= std::ldexp(From{1}, kBits)) { return std::numeric_limits<To>::max(); }
    if constexpr (std::is_signed_v<To>) {
        if (rounded < -std::ldexp(From{1}, kBits)) { return std::numeric_limits<To>::min(); }
    } else {
        if (rounded < 0) { return 0; }
    }
    return static_cast<To>(rounded);
}

// The same to integers of up to 16 bits, without a branch or a call, so that the compiler takes whole vectors: limits first, which
// are integers, then a number so large that adding it leaves no place behind the point. 0.74 ns instead of 3 a byte.
template <class To, class From>
To saturate_narrow(From value) {
    constexpr From kLow = std::numeric_limits<To>::min(), kHigh = std::numeric_limits<To>::max();
    constexpr From kShift = sizeof(From) == sizeof(float) ? From{0x1.8p23} : From{0x1.8p52};
    const From number = std::isnan(value) ? From{0} : value;
    const From low = number < kLow ? kLow : number;
    const From high = low > kHigh ? kHigh : low;
    using Bits = std::conditional_t<sizeof(From) == sizeof(float), std::uint32_t, std::uint64_t>;
    return static_cast<To>(static_cast<std::int32_t>(std::bit_cast<Bits>(high + kShift)));
}

template <class To, class From>
To cast(From value) {
    if constexpr (std::is_same_v<To, bool>) {
        return !std::isnan(value) && std::nearbyint(value) >= 1;  // saturated to [0, 1]
    } else if constexpr (std::is_integral_v<To> && sizeof(To) <= 2) {
        return saturate_narrow<To>(value);
    } else if constexpr (std::is_integral_v<To>) {
        return saturate<To>(value);
    } else if constexpr (std::is_floating_point_v<To>) {
        return static_cast<To>(value);
    } else {
        using R = typename To::value_type;
        return To(static_cast<R>(value.real()), static_cast<R>(value.imag()));
    }
}

template <class To, class T>
void cast_all(To* out, std::int64_t stride, const T* sums, std::int64_t count) {
    if constexpr (std::is_same_v<To, T>) {
        if (stride == 1) {
            std::memcpy(out, sums, static_cast<std::size_t>(count) * sizeof(T));
            return;
        }
    }
    for (std::int64_t i = 0; i < count; ++i) { out[i * stride] = cast<To>(sums[i]); }
}

template <class T>
void scale_and_clamp(const Resolved& problem, T* sums, std::int64_t count) {
    using R = decltype(std::real(T{}));
    if (problem.scale != 1 || problem.bias != 0) {
        const R scale = static_cast<R>(problem.scale);
        const R bias = static_cast<R>(problem.bias);
        for (std::int64_t i = 0; i < count; ++i) {
            if constexpr (std::is_same_v<R, T>) {
                sums[i] = sums[i] * scale + bias;
            } else {
                sums[i] = T(sums[i].real() * scale + bias, sums[i].imag() * scale);
            }
        }
    }
    if constexpr (std::is_same_v<R, T>) {
        if (problem.has_clamp) {
            const R low = static_cast<R>(problem.clamp.low);
            const R high = static_cast<R>(problem.clamp.high);
            for (std::int64_t i = 0; i < count; ++i) {  // comparisons with NaN are false: it passes
                const R value = sums[i];
                sums[i] = value < low ? low : (value > high ? high : value);
            }
        }
    }
}

}  // namespace

template <class T>
void store(const Resolved& problem, const Output& output, std::int64_t row, std::int64_t first, std::int64_t count, T* sums) {
    scale_and_clamp(problem, sums, count);
    const std::int64_t offset = row * output.batch_stride + (first - output.first) * output.stride;
    const auto put = [&]<class To>(To) {
        To* const out = static_cast<To*>(output.data) + offset;
        if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>) {
            if (problem.overflow == Overflow::truncate) {
                for (std::int64_t i = 0; i < count; ++i) { out[i * output.stride] = truncated<To>(sums[i]); }
                return;
            }
        }
        cast_all(out, output.stride, sums, count);
    };
    if constexpr (std::is_floating_point_v<T>) {
        // Complex and 16-bit outputs of real sums are refused by `supports`.
        with_type_of<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                     std::uint32_t, std::uint64_t, bool>(problem.output_dtype, put);
    } else {
        with_type_of<std::complex<float>, std::complex<double>>(problem.output_dtype, put);
    }
}

template void store<float>(const Resolved&, const Output&, std::int64_t, std::int64_t, std::int64_t, float*);
template void store<double>(const Resolved&, const Output&, std::int64_t, std::int64_t, std::int64_t, double*);
template void store<std::complex<float>>(const Resolved&, const Output&, std::int64_t, std::int64_t, std::int64_t,
                                         std::complex<float>*);
template void store<std::complex<double>>(const Resolved&, const Output&, std::int64_t, std::int64_t, std::int64_t,
                                          std::complex<double>*);

}  // namespace tapline::core
