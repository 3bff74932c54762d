#include "core/plan/worker_pool.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <new>
#include <system_error>
#include <thread>

namespace tapline::core {
namespace {

// A worker's state is one of these, and above it how often it was taken: a caller can tell his own job from a later one.
enum Stage : std::uint32_t {
    kFree = 0,    // looks for work
    kAsleep = 1,  // or about to be
    kTaken = 2,   // by a caller, who writes down the job
    kPosted = 3,  // it may begin, or the caller may take it back
    kRunning = 4,
};
constexpr std::uint32_t kStages = 8;

constexpr Stage stage_of(std::uint32_t state) { return static_cast<Stage>(state % kStages); }
constexpr std::uint32_t with_stage(std::uint32_t state, Stage stage) { return state / kStages * kStages + stage; }
constexpr std::uint32_t next_with(std::uint32_t state, Stage stage) { return with_stage(state + kStages, stage); }

// A caller who has nothing left to do waits for the others' last tasks awake for so long.
constexpr double kJoinSpinSeconds = 50e-6;
// So many pauses (1 to 3 us) between two looks at the clock, at which another thread may have the core.
constexpr int kPauses = 64;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The first state for which done() holds, or the last one seen when the time is over.
template <class Done>
std::uint32_t spin(const std::atomic<std::uint32_t>& state, double seconds, const Done& done) {
    double until = 0;
    for (;;) {
        for (int i = 0; i < kPauses; ++i) {
            const std::uint32_t seen = state.load(std::memory_order_acquire);
            if (done(seen)) { return seen; }
            pause();
        }
        const double now = seconds_now();
        if (until == 0) {
            until = now + seconds;
        } else if (now >= until) {
            return state.load(std::memory_order_acquire);
        }
        sched_yield();
    }
}

// No destructor: workers may live until the process ends.
alignas(WorkerPool) std::byte storage[sizeof(WorkerPool)];

}  // namespace

struct alignas(64) WorkerPool::Worker {
    std::atomic<std::uint32_t> state{kFree};
    Share share{};  ///< written while kTaken, read while kRunning
    int slot = 0;

    /// Posts a job if the worker is at `stage`; `taken` is where.
    bool take(const Share& job, int as_slot, Stage stage, std::uint32_t& posted) {
        std::uint32_t seen = state.load(std::memory_order_relaxed);
        if (stage_of(seen) != stage) { return false; }
        if (!state.compare_exchange_strong(seen, next_with(seen, kTaken), std::memory_order_acquire, std::memory_order_relaxed)) {
            return false;
        }
        share = job;
        slot = as_slot;
        posted = next_with(seen, kPosted);
        state.store(posted, std::memory_order_release);
        if (stage == kAsleep) { state.notify_one(); }
        return true;
    }
};

WorkerPool& WorkerPool::instance() {
    static WorkerPool* const pool = [] {
        // A forked process has none of the threads, and a lock may be held for ever: it starts from nothing.
        pthread_atfork(nullptr, nullptr, [] { new (storage) WorkerPool; });
        return new (storage) WorkerPool;
    }();
    return *pool;
}

void WorkerPool::live(Worker* worker) {
    std::atomic<std::uint32_t>& state = worker->state;
    for (;;) {
        std::uint32_t seen = spin(state, kSpinSeconds, [](std::uint32_t s) { return stage_of(s) == kPosted; });
        if (stage_of(seen) == kPosted) {
            if (!state.compare_exchange_strong(seen, with_stage(seen, kRunning), std::memory_order_acquire)) { continue; }
            worker->share.work(worker->share.job, worker->slot);
            state.store(with_stage(seen, kFree), std::memory_order_release);
            state.notify_all();  // the caller may have fallen asleep
        } else if (stage_of(seen) == kFree) {
            const std::uint32_t asleep = with_stage(seen, kAsleep);
            if (state.compare_exchange_strong(seen, asleep, std::memory_order_relaxed)) {
                state.wait(asleep, std::memory_order_acquire);
            }
        }
    }
}

bool WorkerPool::start_one() {
    const int count = count_.load(std::memory_order_relaxed);
    // Signals are for the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = false;
    auto* const worker = new (std::nothrow) Worker;
    if (worker != nullptr) {
        try {
            std::thread(live, worker).detach();
            started = true;
        } catch (const std::system_error&) {
            delete worker;  // the system has no more threads
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (started) {
        workers_[static_cast<std::size_t>(count)].store(worker, std::memory_order_relaxed);
        count_.store(count + 1, std::memory_order_release);
    }
    return started;
}

void WorkerPool::reserve(int helpers) {
    helpers = std::min(helpers, kMostWorkers);
    if (count_.load(std::memory_order_relaxed) >= helpers) { return; }
    const std::lock_guard lock(starting_);
    while (count_.load(std::memory_order_relaxed) < helpers && start_one()) {}
}

void WorkerPool::run(const Share& share, int helpers, int sleepers) {
    helpers = std::min(helpers, kMostWorkers);
    std::array<Taken, kMostWorkers> taken;  // NOLINT(cppcoreguidelines-pro-type-member-init): the first `used` are written
    int used = 0;
    const int count = count_.load(std::memory_order_acquire);
    const auto take_those = [&](Stage stage, int most) {
        for (int i = 0; i < count && used < most; ++i) {
            Worker* const worker = workers_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
            Taken& it = taken[static_cast<std::size_t>(used)];
            if (worker->take(share, used + 1, stage, it.posted)) {
                it.worker = worker;
                ++used;
            }
        }
    };
    take_those(kFree, helpers);
    take_those(kAsleep, std::min(used + sleepers, helpers));
    share.work(share.job, 0);
    for (int i = 0; i < used; ++i) {
        const Taken& it = taken[static_cast<std::size_t>(i)];
        std::atomic<std::uint32_t>& state = it.worker->state;
        std::uint32_t seen = it.posted;
        if (state.compare_exchange_strong(seen, with_stage(it.posted, kFree), std::memory_order_relaxed)) { continue; }
        const std::uint32_t running = with_stage(it.posted, kRunning);
        if (spin(state, kJoinSpinSeconds, [running](std::uint32_t s) { return s != running; }) == running) {
            state.wait(running, std::memory_order_acquire);
        }
    }
}

}  // namespace tapline::core
