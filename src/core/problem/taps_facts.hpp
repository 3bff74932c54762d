// What the taps' own values decide: which algorithms may take them.
#pragma once

#include <vector>

#include "core/problem/mask_rank.hpp"
#include "core/problem/resolved.hpp"

namespace tapline::core {

struct TapsFacts {
    bool finite = true;
    /// Every tap is a number of the signal's 16-bit type: a bf16, or an f16 after scaling by the power of two that brings the
    /// largest into [2^14, 2^15). Tensor cores then need one product where others need two. Asked for one filter on signals of 16
    /// bits.
    bool narrow = false;
    bool equal = false;            ///< of signals and images: the real taps of each filter are all one number
    bool has_negative_tap = true;  ///< of integers beside integers, or nobody knows
    /// Of integers beside integers: the largest magnitude of a tap, and of a filter the sum of magnitudes and the L2 norm, each
    /// of the filter where it is largest and not less than exact.
    double largest_tap = 0, sum_of_taps = 0, norm_of_taps = 0;
    /// Of images: for each mask its sum of separable masks; rank 0 where none is exact enough.
    std::vector<SeparableMask> separable;

    /// The largest rank of all masks, 0 if one of them is not separable.
    [[nodiscard]] int rank() const;

    /// The least number whose power of two no filter's sum of magnitudes passes, of integers; kUnknownBits where nobody knows.
    [[nodiscard]] int bits_of_taps() const;
    /// The least number of bits that every tap's magnitude has room in.
    [[nodiscard]] int bits_of_tap() const;
    static constexpr int kUnknownBits = 127;
};

/// `taps`: problem.filters rows of problem.taps() packed elements, in any order of theirs but one for all; nullptr: not known yet,
/// so that only what holds for all taps is said.
TapsFacts facts_of(const Resolved& problem, const void* taps);

}  // namespace tapline::core
