#include "core/parallel.hpp"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>

namespace tapline::core {

void parallel_for(std::int64_t tasks, int threads, const std::function<void(std::int64_t, int)>& body) {
    if (threads <= 1 || tasks <= 1) {
        for (std::int64_t task = 0; task < tasks; ++task) { body(task, 0); }
        return;
    }
    // oneTBB orders the bodies, but the thread sanitizer cannot see inside it: the counter shows it the same order.
    std::atomic<std::int64_t> finished{0};
    // More threads than cores would only make oneTBB print a warning.
    tbb::task_arena arena(std::min(threads, std::max(tbb::info::default_concurrency(), 2)));
    arena.execute([&] {
        tbb::parallel_for(
            std::int64_t{0}, tasks,
            [&](std::int64_t task) {
                finished.load(std::memory_order_acquire);
                body(task, tbb::this_task_arena::current_thread_index());
                finished.fetch_add(1, std::memory_order_acq_rel);
            },
            tbb::simple_partitioner());
    });
    finished.load(std::memory_order_acquire);
}

}  // namespace tapline::core
