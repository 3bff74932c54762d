// Which limbs and which transform size: what is exact, what it takes, and the memory bound of integer_fft.
#pragma once

#include <array>

#include "cpu/integer/integer_limbs.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {

/// One way to convolve samples with the taps of a plan. Its outputs stand for powers of 2^samples.base.
struct LimbWay {
    Limbs samples;
    LimbProducts products;
};

/// The ways for samples of magnitude up to 2^bits, cheapest first.
class LimbWays {
public:
    /// `modulo_bits`: only so many low bits of the sums matter; 0: all.
    LimbWays(const Limbs& taps, int bits, int modulo_bits);
    [[nodiscard]] const LimbWay* begin() const { return ways_.data(); }
    [[nodiscard]] const LimbWay* end() const { return ways_.data() + count_; }

    static constexpr int kMostLimbs = 12;  ///< of samples, of taps
    static_assert(kMostLimbs + 2 * (kMostLimbs - 1) <= kMostJoined);

private:
    void add(const Limbs& taps, int base, int ratio, int bits, int modulo_bits, int count);

    std::array<LimbWay, 3 * kMostLimbs> ways_;
    int count_ = 0;
};

/// What the outputs of a way may be off by before they are rounded, if the limbs have these L2 norms: those of samples of the
/// complex window (of several, where the filter is in parts: the root of the sum of squares), those of taps likewise. Proved in
/// docs/numerics.md, "Integers".
double error_of(const LimbWay& way, const double* sample_norms, const double* tap_norms, int log2_size, std::int64_t partitions);
/// Rounding gives the exact sums below it: one half, and room for the roundings of the norms and of the bound.
inline constexpr double kMostError = 0.45;

/// Sizes of one plan and the limbs of its taps.
struct IntegerFftShape {
    OverlapSaveShape blocks;  ///< log2_size is 0 if nothing fits
    Limbs taps;
    int most_outputs = 1;       ///< of the ways that any samples may need
    bool keeps_spectra = true;  ///< false: those of a part are made when it is its turn, as all would take too much memory
};

/// The cheapest for samples as large as they may be while their sums fit the output. `modulo_bits`: see LimbWays.
IntegerFftShape integer_fft_shape(const core::Resolved& problem, const core::TapsFacts& facts, int modulo_bits, int threads);

/// Of one unit of two segments on one thread.
double seconds_of_unit(const core::Resolved& problem, const IntegerFftShape& shape, const LimbProducts& products);

}  // namespace tapline::cpu
