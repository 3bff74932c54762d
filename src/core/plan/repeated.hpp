// Batch axes that no algorithm knows: what is prepared for one of their elements is executed for each.
#pragma once

#include <memory>
#include <vector>

#include "core/choice/engine.hpp"

namespace tapline::core {

/// The problem of one element of the outer axes.
Resolved without_outer(const Resolved& problem);

/// How many sets of filters the outer axes step through: 1 where they share one.
std::int64_t filter_sets(const Resolved& problem);

/// Where set `index` begins in the caller's taps, in elements.
std::int64_t filter_set_offset(const Resolved& problem, std::int64_t index);

/// Executes `each[set]` for every element of the outer axes, one after the other. `each` is prepared for without_outer(problem),
/// one for each set of filters (or one that gets its taps with each execution).
std::unique_ptr<const Executable> repeat(const Resolved& problem, std::vector<std::unique_ptr<Executable>> each);

}  // namespace tapline::core
