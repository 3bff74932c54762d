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

// The least that is worth one thread which looks for work, and what is worth each of several.
constexpr double kLeastSeconds = 1e-6, kLeastSecondsOfMany = 2.5e-6;
// Less is shared only where the other core is near.
constexpr double kSureSeconds = 5e-6;
// What is lost at the beginning and at the end.
constexpr double kJoinSeconds = 0.3e-6;
// What is worth waking threads for that may sleep deeply. After 2 ms of rest 175 us of work took 181 on two threads, of which the
// second came too late, and 52 us took 57; after 0.2 ms of rest 97 and 38.
constexpr double kWakingSeconds = 150e-6;
// The least worth taking as a task, where threads have one each: shorter ones end while another thread has begun late, and what it
// would read and write lies in its own core's cache.
constexpr double kTaskSeconds = 2.5e-6;
constexpr double kTasksOfAThread = 16;

// A slot's share of the tasks, which it takes in order: neighbours, and in a repeated call the same ones, so that what they read
// and write is found in this core's own caches. A slot whose share is done goes on with those of others.
struct alignas(64) Range {
    std::atomic<std::int64_t> next;
    std::int64_t end;
};

struct Job : Share {
    const std::function<void(std::int64_t, int)>& body;
    Range* ranges;
    int slots;
    std::atomic<bool> failed{false};
    std::exception_ptr failure{};  ///< written by whoever set `failed`, read when all have ended
};

// What a body refers to lies in its caller's frames, behind it: a helper asks for these lines all at once, as each would make it
// wait for the other core. Not for more, which the caller may be writing.
void ask_for(const void* body) {
    constexpr int kBytes = 256, kLine = 64;
    const char* const at = static_cast<const char*>(body);
    for (int i = 0; i < kBytes; i += kLine) { __builtin_prefetch(at + i); }
}

void work(Share& share, int slot) {
    Job& job = static_cast<Job&>(share);
    if (slot > 0) {
        __builtin_prefetch(&job.ranges[slot], 1);
        ask_for(&job.body);
    }
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
std::atomic<Clock::rep> last_asleep{0};  ///< when the last work ended that found threads asleep

// Whether threads are woken for work which takes one thread so many seconds: where it is much, or where those woken for the last
// work that found them asleep would still be awake. Then waking them for little work costs no more than not having woken them then.
bool wakes(double seconds) {
    if (seconds >= kWakingSeconds) { return true; }
    const Clock::duration since(Clock::now().time_since_epoch().count() - last_asleep.load(std::memory_order_relaxed));
    return std::chrono::duration<double>(since).count() < kSpinSeconds;
}

// More threads than cores would only be in each other's way; a second one is granted, so that a program can be tried with two.
int most_helpers() {
    static const int most = std::min(std::max(available_threads(), 2), WorkerPool::kMostSlots) - 1;
    return most;
}

}  // namespace

int worthwhile_threads(double seconds, int threads) {
    if (seconds <= kLeastSeconds || threads <= 1) { return 1; }
    const double worth = seconds / kLeastSecondsOfMany;
    return worth < threads ? std::max(static_cast<int>(worth), 2) : threads;
}

double seconds_on_threads(double seconds, int threads) {
    const int used = worthwhile_threads(seconds, threads);
    return used == 1 ? seconds : seconds / used + kJoinSeconds;
}

std::int64_t good_number_of_tasks(double seconds, int threads) {
    const int used = worthwhile_threads(seconds, threads);
    if (used == 1) { return 1; }
    const double of_a_thread = seconds / used / kTaskSeconds;  // each as many, or one would do more
    return static_cast<std::int64_t>(std::clamp(of_a_thread, 1.0, kTasksOfAThread)) * used;
}

void parallel_for(std::int64_t tasks, int threads, const std::function<void(std::int64_t, int)>& body, double seconds) {
    const auto helpers =
        static_cast<int>(std::min<std::int64_t>({worthwhile_threads(seconds, threads) - 1, tasks - 1, most_helpers()}));
    const auto alone = [&] {
        for (std::int64_t task = 0; task < tasks; ++task) { body(task, 0); }
    };
    if (helpers <= 0) { return alone(); }
    WorkerPool& pool = WorkerPool::instance();
    if (seconds < kSureSeconds && !pool.is_near(seconds)) { return alone(); }
    pool.reserve(helpers);
    alignas(Range) std::byte memory[sizeof(Range) * WorkerPool::kMostSlots];
    auto* const ranges = reinterpret_cast<Range*>(memory);
    const int slots = helpers + 1;
    for (int slot = 0; slot < slots; ++slot) { new (ranges + slot) Range{tasks * slot / slots, tasks * (slot + 1) / slots}; }
    Job job{{work}, body, ranges, slots};
    if (!pool.run(job, helpers, wakes, seconds)) {
        last_asleep.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    }
    if (job.failure) { std::rethrow_exception(job.failure); }
}

}  // namespace tapline::core
