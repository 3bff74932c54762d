#include "core/plan/parallel.hpp"

#include <algorithm>
#include <atomic>

#if defined(__SANITIZE_THREAD__)
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#else
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#endif

namespace tapline::core {
namespace {

#if defined(__SANITIZE_THREAD__)
// oneTBB comes from the distribution without instrumentation, so the thread sanitizer reports its scheduler and cannot see
// how it orders the bodies. Under the sanitizer plain threads take the tasks, and what is checked is this library.
void run(std::int64_t tasks, int threads, const std::function<void(std::int64_t, int)>& body) {
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto work = [&](int slot) {
        try {
            for (std::int64_t task = next++; task < tasks; task = next++) { body(task, slot); }
        } catch (...) {
            const std::lock_guard lock(failure_mutex);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    for (int slot = 1; slot < std::min<std::int64_t>(threads, tasks); ++slot) { others.emplace_back(work, slot); }
    work(0);
    for (std::thread& other : others) { other.join(); }
    if (failure) { std::rethrow_exception(failure); }
}
#else
void run(std::int64_t tasks, int threads, const std::function<void(std::int64_t, int)>& body) {
    // More threads than cores would only make oneTBB print a warning.
    tbb::task_arena arena(std::min(threads, std::max(tbb::info::default_concurrency(), 2)));
    arena.execute([&] {
        tbb::parallel_for(
            std::int64_t{0}, tasks, [&](std::int64_t task) { body(task, tbb::this_task_arena::current_thread_index()); },
            tbb::simple_partitioner());
    });
}
#endif

}  // namespace

void parallel_for(std::int64_t tasks, int threads, const std::function<void(std::int64_t, int)>& body) {
    if (threads <= 1 || tasks <= 1) {
        for (std::int64_t task = 0; task < tasks; ++task) { body(task, 0); }
        return;
    }
    run(tasks, threads, body);
}

}  // namespace tapline::core
