#include "core/plan/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <new>

#include "core/plan/worker_pool.hpp"
#include "tapline/info.hpp"

namespace tapline::core {
namespace {

// The least that is worth a thread which looks for work: it begins 0.2 us after it is called, and 0.3 us are lost at the end. Two
// threads do 17.3 us of one in 9.1 (AMD EPYC, 2 cores).
constexpr double kLeastSeconds = 2.5e-6;
// What is worth waking threads for that may sleep deeply. After 2 ms of rest 175 us of work took 181 on two threads, of which the
// second came too late, and 52 us took 57; after 0.2 ms of rest 97 and 38.
constexpr double kWakingSeconds = 150e-6;
// The least worth taking as a task: 20 ns for the counter that all threads share.
constexpr double kTaskSeconds = 1e-6;
constexpr double kTasksOfAThread = 16;

// A slot's share of the tasks, which it takes in order: neighbours, and in a repeated call the same ones, so that what they read
// and write is found in this core's own caches. A slot whose share is done goes on with those of others.
struct alignas(64) Range {
    std::atomic<std::int64_t> next;
    std::int64_t end;
};

struct Job {
    const std::function<void(std::int64_t, int)>& body;
    Range* ranges;
    int slots;
    std::atomic<bool> failed{false};
    std::exception_ptr failure{};  ///< written by whoever set `failed`, read when all have ended
};

void work(void* of, int slot) {
    Job& job = *static_cast<Job*>(of);
    try {
        for (int i = 0; i < job.slots; ++i) {
            Range& range = job.ranges[(slot + i) % job.slots];
            while (range.next.load(std::memory_order_relaxed) < range.end && !job.failed.load(std::memory_order_relaxed)) {
                const std::int64_t task = range.next.fetch_add(1, std::memory_order_relaxed);
                if (task < range.end) { job.body(task, slot); }
            }
        }
    } catch (...) {
        if (!job.failed.exchange(true)) { job.failure = std::current_exception(); }
    }
}

using Clock = std::chrono::steady_clock;
std::atomic<Clock::rep> last_end{0};

// Whether threads that had been awake for the work before this would still be. If so, waking them for little work costs no more
// than not having woken them then.
bool comes_soon_after_the_last() {
    const Clock::duration since(Clock::now().time_since_epoch().count() - last_end.load(std::memory_order_relaxed));
    return std::chrono::duration<double>(since).count() < kSpinSeconds;
}

// More threads than cores would only be in each other's way; a second one is granted, so that a program can be tried with two.
int most_helpers() {
    static const int most = std::min(std::max(available_threads(), 2), WorkerPool::kMostSlots) - 1;
    return most;
}

}  // namespace

int worthwhile_threads(double seconds, int threads) {
    const double worth = seconds / kLeastSeconds;
    return worth < threads ? std::max(static_cast<int>(worth), 1) : std::max(threads, 1);
}

double seconds_on_threads(double seconds, int threads) {
    // What is lost at the beginning and at the end.
    constexpr double kJoinSeconds = 0.5e-6;
    const int used = worthwhile_threads(seconds, threads);
    return used == 1 ? seconds : seconds / used + kJoinSeconds;
}

std::int64_t good_number_of_tasks(double seconds, int threads) {
    const int used = worthwhile_threads(seconds, threads);
    return used == 1 ? 1 : static_cast<std::int64_t>(std::clamp(seconds / kTaskSeconds, 1.0, kTasksOfAThread * used));
}

void parallel_for(std::int64_t tasks, int threads, const std::function<void(std::int64_t, int)>& body, double seconds) {
    const auto helpers =
        static_cast<int>(std::min<std::int64_t>({worthwhile_threads(seconds, threads) - 1, tasks - 1, most_helpers()}));
    if (helpers <= 0) {
        for (std::int64_t task = 0; task < tasks; ++task) { body(task, 0); }
        return;
    }
    WorkerPool& pool = WorkerPool::instance();
    pool.reserve(helpers);
    alignas(Range) std::byte memory[sizeof(Range) * WorkerPool::kMostSlots];
    auto* const ranges = reinterpret_cast<Range*>(memory);
    const int slots = helpers + 1;
    for (int slot = 0; slot < slots; ++slot) { new (ranges + slot) Range{tasks * slot / slots, tasks * (slot + 1) / slots}; }
    Job job{.body = body, .ranges = ranges, .slots = slots};
    const bool wake = seconds >= kWakingSeconds || comes_soon_after_the_last();
    pool.run({work, &job}, helpers, wake ? helpers : 0);
    last_end.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    if (job.failure) { std::rethrow_exception(job.failure); }
}

}  // namespace tapline::core
