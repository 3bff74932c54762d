// Integers as sums of limbs, which double transforms convolve exactly: x = sum over j of limb_j 2^(base j).
//
// All limbs but the last are balanced, |limb| <= 2^(base - 1): half a bit less in every norm than digits from 0 on would have,
// and no mean, which would be most of a norm.
#pragma once

#include <cstdint>
#include <tuple>

#include "core/problem/int_range.hpp"
#include "cpu/targets.hpp"

namespace tapline::cpu {

/// How integers become limbs.
struct Limbs {
    int base = 0;   ///< bits of a limb, at most 63 / (count - 1)
    int count = 1;  ///< if it is 1, the limb is the number
    /// If not 0: only x modulo 2^modulo_bits is kept, and the last limb is balanced as well.
    int modulo_bits = 0;

    /// Limb j of integers of magnitude up to 2^bits is at most this.
    [[nodiscard]] double largest(int j, int bits) const;
};

/// Limb j of 64-bit integers: ((x + bias) >> shift & mask) - half, or, of a last one that holds all the rest, (x >> shift) plus the
/// carry of the balanced limbs below.
struct Limb {
    Limb(const Limbs& limbs, int j, bool of_unsigned);

    int shift;
    bool rest, unsigned_values;
    std::uint64_t mask, bias;
    std::int64_t half;

    [[nodiscard]] std::int64_t of(std::int64_t x) const {
        const auto bits = static_cast<std::uint64_t>(x);
        if (!rest) { return static_cast<std::int64_t>((bits + bias) >> shift & mask) - half; }
        const auto carry = static_cast<std::int64_t>(((bits & mask) + bias) >> shift);
        return (unsigned_values ? static_cast<std::int64_t>(bits >> shift) : x >> shift) + carry;
    }
};

/// Products of limbs of samples and of taps: output w is the sum over j + ratio l = w of samples' limb j and taps' limb l.
struct LimbProducts {
    int samples = 1, taps = 1;
    int ratio = 1;    ///< a limb of taps has so many times the bits of one of samples
    int outputs = 1;  ///< those of higher powers than matter may be missing
};

template <class T>
struct SampleKernels {
    /// or_bits() of integer_levels.hpp.
    std::uint64_t (*or_bits)(const T* samples, std::int64_t count);
    void (*widen)(std::int64_t* to, const T* samples, std::int64_t count);
    /// to[i] = samples[i], exact below 2^51; returns the sum of squares.
    double (*convert)(double* to, const T* samples, std::int64_t count);
};

struct LimbKernels {
    /// to[i] = limb of x[i], below 2^51; returns the sum of squares.
    double (*split)(double* to, const std::int64_t* x, std::int64_t count, const Limb& limb);
    /// In place, spectra of samples' limbs to those of the outputs: data[w], h[l] are re parts, im parts `im_offset` further on;
    /// count is a multiple of the lanes.
    void (*multiply)(double* const* data, const double* const* h, std::int64_t im_offset, std::int64_t count,
                     const LimbProducts& products);
    /// sums[i] = sum over w of round(values[w][i]) 2^(base w), modulo 2^64; values below 2^51.
    void (*join64)(std::int64_t* sums, const double* const* values, int outputs, int base, std::int64_t count);
    std::tuple<SampleKernels<std::int8_t>, SampleKernels<std::int16_t>, SampleKernels<std::int32_t>, SampleKernels<std::int64_t>,
               SampleKernels<std::uint8_t>, SampleKernels<std::uint16_t>, SampleKernels<std::uint32_t>,
               SampleKernels<std::uint64_t>>
        samples;

    template <class T>
    [[nodiscard]] const SampleKernels<T>& of() const {
        return std::get<SampleKernels<T>>(samples);
    }
};

const LimbKernels& limb_kernels(Target target);
const LimbKernels& limb_kernels_scalar();

/// join64 for wider sums, modulo 2^128 and 2^192; values below 2^45, at most kMostJoined outputs.
inline constexpr int kMostJoined = 36;
void join128(const LimbKernels& kernels, core::Int128* sums, const double* const* values, int outputs, int base,
             std::int64_t count);
void join192(const LimbKernels& kernels, core::Int192* sums, const double* const* values, int outputs, int base,
             std::int64_t count);

}  // namespace tapline::cpu
