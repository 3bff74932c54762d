// All cores, through oneTBB. Tasks are numbered, so that results never depend on who runs them.
#pragma once

#include <cstdint>
#include <functional>

namespace tapline::core {

/// Calls body(task, slot) once for every task in [0, tasks), on at most `threads` threads at a time (the caller is one of
/// them). `slot` is in [0, threads) and no two calls that run at the same moment have the same: use it to pick scratch
/// memory. threads <= 1 or tasks <= 1 runs in the calling thread with slot 0. An exception of a body is rethrown.
void parallel_for(std::int64_t tasks, int threads, const std::function<void(std::int64_t task, int slot)>& body);

}  // namespace tapline::core
