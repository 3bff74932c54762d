// All cores. Tasks are numbered, so that results never depend on who runs them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

namespace tapline::core {

/// What parallel_for() is told where nobody knows how long the tasks take: long.
inline constexpr double kLongSeconds = std::numeric_limits<double>::infinity();

/// Calls body(task, slot) once for every task in [0, tasks), on at most `threads` threads at a time (the caller is one of
/// them). `slot` is in [0, threads) and no two calls that run at the same moment have the same: use it to pick scratch
/// memory. threads <= 1 or tasks <= 1 runs in the calling thread with slot 0. The first exception of a body is rethrown; tasks
/// that nobody has begun by then are left out.
///
/// `seconds`: what all tasks would take one thread. A share of the work that would not pay for its thread goes to none, and
/// little work does not wake threads that sleep. It allocates nothing but where it starts further threads, which then stay.
void parallel_for(std::int64_t tasks, int threads, const std::function<void(std::int64_t task, int slot)>& body,
                  double seconds = kLongSeconds);

/// Threads that work of so many seconds on one thread is worth: at least 1, at most `threads`.
int worthwhile_threads(double seconds, int threads);

/// Seconds of work that takes one thread `seconds`, on as many as it is worth: for cost models.
double seconds_on_threads(double seconds, int threads);

/// So many tasks for each thread that one which begins late or is held up does not keep the others waiting, and none shorter
/// than is worth taking.
std::int64_t good_number_of_tasks(double seconds, int threads);

}  // namespace tapline::core
