// In what order an algorithm for signals goes through rows that do not lie one sample after the other.
#pragma once

#include "core/plan/repeated.hpp"
#include "core/problem/resolved.hpp"

namespace tapline::cpu {

struct LineLayout {
    enum class Way {
        as_given,      ///< the algorithm takes the problem as it is
        side_by_side,  ///< rows whose samples are neighbours in input and output are computed together, in place
        tiles,         ///< some rows at a time become lines of packed samples in scratch memory
    };
    Way way = Way::as_given;
    /// `batch` holds the rows that are taken together, `outer` all others. Of tiles strides of taps count filters:
    /// row r of an element of the outer axes has the filter element.taps + r % filters * batch.taps_stride.
    core::Resolved problem;
    bool reordered = false;  ///< `batch` is another axis than the problem's
    bool gathers = false;    ///< tiles: samples are copied, as they are apart or widened; else read where they are
    bool scatters = false;   ///< tiles: so are outputs

    std::int64_t filters = 1;  ///< of all rows
};

/// What an algorithm can do beside solving the problem of packed rows.
struct LineAbilities {
    bool side_by_side = false;  ///< it has a way of its own for those rows
    bool all_filters = false;   ///< one executable holds any number of filters, else each has its own
};
LineLayout line_layout(const core::Resolved& problem, LineAbilities abilities);

/// An element of the outer axes of a layout's problem.
core::OuterElement element_of(const core::Resolved& problem, bool reordered, const core::Output& output, const core::Input& input,
                              std::int64_t index);

/// The problem of `rows` lines of packed samples in the type of their sums, packed outputs.
core::Resolved problem_of_lines(const core::Resolved& problem, std::int64_t rows);

}  // namespace tapline::cpu
