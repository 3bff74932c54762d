// Batch axes that no algorithm knows: what is prepared for one of their elements is executed for each.
#pragma once

#include <memory>
#include <vector>

#include "core/choice/engine.hpp"
#include "core/problem/arrange.hpp"

namespace tapline::core {

/// Where set `index` begins in the caller's taps, in elements.
std::int64_t filter_set_offset(const Resolved& problem, std::int64_t index);

/// The element of the outer axes that is number `index`: its output and input, given those of the first one.
struct OuterElement {
    Output output;
    Input input;
    std::int64_t taps = 0;  ///< elements before its filters
    std::int64_t set = 0;   ///< which of the sets of filters
};
OuterElement outer_element(const Resolved& problem, const Output& output, const Input& input, std::int64_t index);

/// Executes `each[set]` for every element of the outer axes, one after the other. `each` is prepared for without_outer(problem),
/// one for each set of filters (or one that gets its taps with each execution).
std::unique_ptr<const Executable> repeat(const Resolved& problem, std::vector<std::unique_ptr<Executable>> each);

/// What an algorithm prepares for a problem with its outer axes, which it takes or which it is repeated over. `taps`: set after
/// set.
std::unique_ptr<const Executable> prepare_with_outer(const Algorithm& algorithm, const Resolved& problem, const void* taps,
                                                     const Request& request);
/// What it estimates for that.
double seconds_with_outer(const Algorithm& algorithm, const Resolved& problem, const Request& request);

}  // namespace tapline::core
