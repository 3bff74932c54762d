// Batch axes in the order in which tiles of lines take them.
#pragma once

#include <array>

#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda {

/// The nearest in memory first, as Rows has them: Rows::near and Rows::others.
struct RowOrder {
    static constexpr std::size_t kAxes = 1 + Rows::kMostOthers;
    std::array<RowAxis, kAxes> axes{};
    std::size_t batch = 0;  ///< which of them the batch is
    /// So many filters on from one row to the next, those of sets one after the other; where there is one set, rows of the batch.
    std::array<std::int64_t, kAxes> steps{};
};
RowOrder row_order(const Problem& p, const Job& job);

}  // namespace tapline::cuda
