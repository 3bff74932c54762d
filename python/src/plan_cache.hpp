// Plans of recent calls, so that a loop over short signals does not prepare the same taps again.
#pragma once

#include <cstddef>

#include "tapline/plan.hpp"

namespace tapline::python {

/// The plan for this problem, these options and exactly these taps: found by content, so that an array changed in place is
/// another filter. At most 32 are kept, with at most 8 MiB of taps, and none that "auto" put on a GPU. Call it with the GIL held;
/// it is released while a long filter is prepared.
Plan cached_plan(const Problem& problem, const void* taps, const PlanOptions& options);

/// Forgets all of them (after `tapline tune`, or a change of the process's CPU affinity).
void clear_plan_cache();

/// How many are kept.
std::size_t plan_cache_size();

}  // namespace tapline::python
