// Whether a mask is a sum of few separable masks, and which.
#pragma once

#include <cstdint>
#include <vector>

#include "tapline/types.hpp"

namespace tapline::core {

/// More ranks never pay: a transform is faster (docs/benchmarks.md).
inline constexpr int kMaxMaskRank = 4;

/// taps[i][j] = sum over r of columns[r][i] * rows[r][j], but for what the accuracy promise allows.
struct SeparableMask {
    int rank = 0;                 ///< 0: not separable
    std::vector<double> columns;  ///< rank x height, each value one of the sum's type
    std::vector<double> rows;     ///< rank x width, likewise
    /// Rank 1, and the product of two factors is zero, positive or negative just where the tap is: then infinities in the image
    /// come out of two passes as they come out of one sum.
    bool exact_specials = false;
};

/// The separable sum of smallest rank, up to kMaxMaskRank, for a mask of finite real taps of type f32 or f64 (`dtype`).
///
/// By singular value decomposition: that of the few largest crosses of the mask (rows and columns through the largest remaining
/// element), which for a mask of low rank is the mask's own. What remains of the mask is an error of at most sum |remainder| times
/// the L2 norm of the input (Young's inequality); it may take a quarter of what the accuracy `standard` promises.
SeparableMask separate(const void* taps, std::int64_t height, std::int64_t width, Dtype dtype);

}  // namespace tapline::core
