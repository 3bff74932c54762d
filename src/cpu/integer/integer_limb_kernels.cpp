// The loops between integers and limbs in Highway, compiled once for each instruction set.
#include "cpu/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/integer/integer_limb_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/integer/integer_levels.hpp"
#include "cpu/integer/integer_limbs.hpp"

// The scalar target is compiled by integer_limb_kernels_scalar.cpp.
#if TAPLINE_NAMED_TARGET
HWY_BEFORE_NAMESPACE();
namespace tapline::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::ScalableTag<double>;
using Integers = hn::RebindToSigned<Doubles>;
constexpr std::int64_t kLanes = hn::MaxLanes(Doubles());

// Between integers below 2^51 and doubles: in 1.5 * 2^52 + x the low bits are those of x, and adding it rounds to an integer.
constexpr double kMagic = 6755399441055744.0;

HWY_INLINE hn::Vec<Doubles> to_double(hn::Vec<Integers> x) {
    const auto magic = hn::Set(Doubles(), kMagic);
    return hn::BitCast(Doubles(), x + hn::BitCast(Integers(), magic)) - magic;
}
HWY_INLINE hn::Vec<Integers> to_nearest(hn::Vec<Doubles> x) {
    const auto magic = hn::Set(Doubles(), kMagic);
    return hn::BitCast(Integers(), x + magic) - hn::BitCast(Integers(), magic);
}

// Samples of 8 and 16 bits, and of i32, by way of i32.
template <class T>
inline constexpr bool kByInt32 = sizeof(T) <= 2 || std::is_same_v<T, std::int32_t>;

template <class T>
HWY_INLINE auto load_int32(const T* samples) {
    const hn::Rebind<std::int32_t, Doubles> d32;
    const auto x = hn::LoadU(hn::Rebind<T, Doubles>(), samples);
    if constexpr (sizeof(T) == 4) {
        return x;
    } else {
        return hn::PromoteTo(d32, x);
    }
}

template <class T>
HWY_INLINE hn::Vec<Integers> load_wide(const T* samples) {
    if constexpr (kByInt32<T>) {
        return hn::PromoteTo(Integers(), load_int32(samples));
    } else if constexpr (sizeof(T) == 4) {
        return hn::BitCast(Integers(),
                           hn::PromoteTo(hn::RebindToUnsigned<Doubles>(), hn::LoadU(hn::Rebind<T, Doubles>(), samples)));
    } else {
        return hn::BitCast(Integers(), hn::LoadU(hn::Rebind<T, Doubles>(), samples));
    }
}

template <class T>
std::uint64_t or_bits(const T* samples, std::int64_t count) {
    const hn::ScalableTag<T> d;
    constexpr std::int64_t kStep = hn::MaxLanes(d);
    auto bits = hn::Zero(d), more = hn::Zero(d);
    const auto of = [d, samples](std::int64_t i) {
        const auto x = hn::LoadU(d, samples + i);
        if constexpr (std::is_unsigned_v<T>) {
            return x;
        } else if constexpr (sizeof(T) == 1) {
            return hn::IfThenElse(x < hn::Zero(d), hn::Not(x), x);
        } else {
            return hn::Xor(x, hn::BroadcastSignBit(x));
        }
    };
    std::int64_t i = 0;
    for (; i + 2 * kStep <= count; i += 2 * kStep) {
        bits = hn::Or(bits, of(i));
        more = hn::Or(more, of(i + kStep));
    }
    HWY_ALIGN T lanes[kStep];
    hn::Store(hn::Or(bits, more), d, lanes);
    T all = 0;
    for (const T lane : lanes) { all = static_cast<T>(all | lane); }
    return static_cast<std::uint64_t>(all) | cpu::or_bits(samples + i, count - i);
}

template <class T>
void widen(std::int64_t* to, const T* samples, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) { hn::StoreU(load_wide(samples + i), Integers(), to + i); }
    for (; i < count; ++i) { to[i] = static_cast<std::int64_t>(samples[i]); }
}

// to[i] = make(i) for vectors, then rest(i) for what is left; two sums of squares, since additions take turns.
template <class Make, class Rest>
HWY_INLINE double fill(double* to, std::int64_t count, const Make& make, const Rest& rest) {
    const Doubles d;
    auto even = hn::Zero(d), odd = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
        const auto a = make(i), b = make(i + kLanes);
        even = hn::MulAdd(a, a, even);
        odd = hn::MulAdd(b, b, odd);
        hn::StoreU(a, d, to + i);
        hn::StoreU(b, d, to + i + kLanes);
    }
    double squares = hn::GetLane(hn::SumOfLanes(d, even + odd));
    for (; i < count; ++i) {
        to[i] = rest(i);
        squares += to[i] * to[i];
    }
    return squares;
}

template <class T>
double convert(double* to, const T* samples, std::int64_t count) {
    return fill(
        to, count,
        [samples](std::int64_t i) {
            if constexpr (kByInt32<T>) {
                return hn::PromoteTo(Doubles(), load_int32(samples + i));
            } else {
                return to_double(load_wide(samples + i));
            }
        },
        [samples](std::int64_t i) { return static_cast<double>(samples[i]); });
}

double split(double* to, const std::int64_t* x, std::int64_t count, const Limb& limb) {
    const Integers d;
    const hn::RebindToUnsigned<Integers> u;
    const auto mask = hn::Set(u, limb.mask), bias = hn::Set(u, limb.bias);
    const auto rest = [&](std::int64_t i) { return static_cast<double>(limb.of(x[i])); };
    if (!limb.rest) {
        const auto half = hn::Set(d, limb.half);
        const auto make = [&](std::int64_t i) {
            const auto digit = hn::And(hn::ShiftRightSame(hn::BitCast(u, hn::LoadU(d, x + i)) + bias, limb.shift), mask);
            return to_double(hn::BitCast(d, digit) - half);
        };
        return fill(to, count, make, rest);
    }
    const auto make = [&](std::int64_t i) {
        const auto v = hn::LoadU(d, x + i);
        const auto bits = hn::BitCast(u, v);
        const auto carry = hn::BitCast(d, hn::ShiftRightSame(hn::And(bits, mask) + bias, limb.shift));
        const auto high =
            limb.unsigned_values ? hn::BitCast(d, hn::ShiftRightSame(bits, limb.shift)) : hn::ShiftRightSame(v, limb.shift);
        return to_double(high + carry);
    };
    return fill(to, count, make, rest);
}

// The outputs from the last to the first, which read no samples' limb of a higher number than their own.
void multiply(double* const* data, const double* const* h, std::int64_t im_offset, std::int64_t count, const LimbProducts& p) {
    const Doubles d;
    for (std::int64_t i = 0; i < count; i += kLanes) {
        for (int w = p.outputs - 1; w >= 0; --w) {
            auto re = hn::Zero(d), im = hn::Zero(d);
            for (int l = 0; l < p.taps && p.ratio * l <= w; ++l) {
                const int j = w - p.ratio * l;
                if (j >= p.samples) { continue; }
                const auto x_re = hn::LoadU(d, data[j] + i), x_im = hn::LoadU(d, data[j] + im_offset + i);
                const auto h_re = hn::LoadU(d, h[l] + i), h_im = hn::LoadU(d, h[l] + im_offset + i);
                re = hn::NegMulAdd(x_im, h_im, hn::MulAdd(x_re, h_re, re));
                im = hn::MulAdd(x_im, h_re, hn::MulAdd(x_re, h_im, im));
            }
            hn::StoreU(re, d, data[w] + i);
            hn::StoreU(im, d, data[w] + im_offset + i);
        }
    }
}

void join64(std::int64_t* sums, const double* const* values, int outputs, int base, std::int64_t count) {
    const Doubles d;
    const Integers di;
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        auto sum = to_nearest(hn::LoadU(d, values[0] + i));
        for (int w = 1; w < outputs; ++w) { sum = sum + hn::ShiftLeftSame(to_nearest(hn::LoadU(d, values[w] + i)), base * w); }
        hn::StoreU(sum, di, sums + i);
    }
    for (; i < count; ++i) {
        std::uint64_t sum = 0;
        for (int w = 0; w < outputs; ++w) {
            const double rounded = (values[w][i] + kMagic) - kMagic;
            sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(rounded)) << (base * w);
        }
        sums[i] = static_cast<std::int64_t>(sum);
    }
}

template <class T>
constexpr SampleKernels<T> sample_kernels() {
    return {or_bits<T>, widen<T>, convert<T>};
}

}  // namespace

const LimbKernels& limb_kernel_table() {
    static constexpr LimbKernels kKernels = {
        split,
        multiply,
        join64,
        {sample_kernels<std::int8_t>(), sample_kernels<std::int16_t>(), sample_kernels<std::int32_t>(),
         sample_kernels<std::int64_t>(), sample_kernels<std::uint8_t>(), sample_kernels<std::uint16_t>(),
         sample_kernels<std::uint32_t>(), sample_kernels<std::uint64_t>()}};
    return kKernels;
}

}  // namespace tapline::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace tapline::cpu {

#if defined(TAPLINE_SCALAR_TARGET)
const LimbKernels& limb_kernels_scalar() { return N_SCALAR::limb_kernel_table(); }
#else
const LimbKernels& limb_kernels(Target target) { TAPLINE_RETURN_TABLE_OF(target, limb_kernel_table, limb_kernels_scalar()) }
#endif

}  // namespace tapline::cpu
#endif
