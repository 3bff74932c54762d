// Plans of recent calls, of signals and of images, so that a loop over short signals does not prepare the same taps again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tapline/plan.hpp"

namespace tapline::python {

/// The plan for this problem, these options and exactly these taps: found by content, so that an array changed in place is
/// another filter. Those stay whose preparation took the most seconds for each byte that they hold and that were asked for lately;
/// none stays that "auto" put on a GPU. `taps`: packed, all that the problem takes. Call it with the GIL held; it is released while
/// a long filter is prepared.
Plan cached_plan(const Problem& problem, const void* taps, const PlanOptions& options);

/// The taps of a plan that is kept, as they were when it was made; whoever has them may look at them without the GIL.
using KeptTaps = std::shared_ptr<const std::vector<std::byte>>;

/// Whether so many bytes of taps, and what a plan on a GPU (or on the CPU) makes of them, are more than is kept.
bool is_too_long_to_keep(std::size_t taps_bytes, bool on_gpu);

/// Those of the plan that cached_plan() gave last; null if that is not kept.
KeptTaps latest_kept_taps();

/// Lets `what`, made of that plan, live as long as the plan is kept, or until a few others have come.
void keep_with_latest(std::shared_ptr<const void> what);

/// The plan with these taps was used again without being asked for here.
void count_use(const KeptTaps& taps);

/// Forgets all of them (after `tapline tune`, or a change of the process's CPU affinity).
void clear_plan_cache();

/// How many are kept.
std::size_t plan_cache_size();

/// Plan::explain() of the one that was asked for last; empty where none is kept.
std::string explain_latest_plan();

/// What is kept, and what the cache was asked since the process began. Taps are counted as they are; what a plan made of them is
/// taken as kPreparedShare of their bytes, since a plan does not tell.
struct PlanCacheInfo {
    std::size_t plans = 0;
    std::size_t host_bytes = 0, device_bytes = 0;
    std::size_t limit_bytes = 0;
    double preparation_seconds = 0;  ///< of the plans that are kept
    std::uint64_t hits = 0, misses = 0;
};
PlanCacheInfo plan_cache_info();

/// Of host memory, and as much again of GPUs'; what is too much is forgotten at once. 0: nothing is kept. At first
/// TAPLINE_PLAN_CACHE_BYTES, where that is set to a number, else kDefaultLimitBytes.
void set_plan_cache_limit(std::size_t bytes);

}  // namespace tapline::python
