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

// A worker's state is one of these. From kPosted on the address of the job is in it too, and the worker's slot: so one line of the
// cache tells a worker all, one exchange posts a job, and a caller knows his own from another's, as nobody else has one there.
constexpr std::uint64_t kFree = 0;    // looks for work
constexpr std::uint64_t kAsleep = 1;  // or about to be
constexpr std::uint64_t kPosted = 2;  // it may begin, or the caller may take it back
constexpr std::uint64_t kRunning = 3;
constexpr std::uint64_t kAwaited = 4;  // running, and the caller sleeps until it has ended
constexpr std::uint64_t kStages = alignof(Share);
constexpr int kSlotShift = 48;

constexpr std::uint64_t stage_of(std::uint64_t state) { return state % kStages; }
constexpr std::uint64_t with_stage(std::uint64_t state, std::uint64_t stage) { return state / kStages * kStages + stage; }
constexpr std::uint64_t address_of(std::uint64_t state) { return state % (std::uint64_t{1} << kSlotShift) / kStages * kStages; }
Share* job_of(std::uint64_t state) {
    return reinterpret_cast<Share*>(static_cast<std::uintptr_t>(address_of(state)));  // NOLINT(performance-no-int-to-ptr)
}
constexpr int slot_of(std::uint64_t state) { return static_cast<int>(state >> kSlotShift); }

// A caller who has nothing left to do waits for the others' last tasks awake for so long.
constexpr double kJoinSpinSeconds = 50e-6;
// So many pauses (4 to 10 us) between two looks at the clock, at which another thread may have the core: who calls meanwhile waits.
constexpr int kPauses = 256;

// Work pays for a thread that takes so many times as long as its begin: near cores begin after 0.03 us and a call loses 0.25,
// others after 0.1 to 0.4 us and lose 1.
constexpr double kHandoffs = 25;
// A begin that came later than the best of the last ones, at most so late, counts this share: a worker may have been yielding.
constexpr double kLatest = 2e-6, kLaterShare = 1.0 / 16;
// Of so many calls in turn that are refused the first ones are made all the same: enough that a sleeping worker is woken and tells.
constexpr unsigned kRefusals = 4096, kTries = 48;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// A clock that costs some cycles where there is one, to measure with what costs 0.1 us.
std::uint64_t ticks() {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The first state for which done() holds, or the last one seen when the time is over.
template <class Done>
std::uint64_t spin(const std::atomic<std::uint64_t>& state, double seconds, const Done& done) {
    double until = 0;
    for (;;) {
        for (int i = 0; i < kPauses; ++i) {
            const std::uint64_t seen = state.load(std::memory_order_acquire);
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

double seconds_of_tick() {
    static const double kSeconds = [] {
        constexpr double kMeasured = 20e-6;
        const double begin = seconds_now();
        const std::uint64_t first = ticks();
        double end = begin;
        while (end - begin < kMeasured) { end = seconds_now(); }
        return (end - begin) / static_cast<double>(std::max<std::uint64_t>(ticks() - first, 1));
    }();
    return kSeconds;
}

// No destructor: workers may live until the process ends.
alignas(WorkerPool) std::byte storage[sizeof(WorkerPool)];

}  // namespace

struct alignas(64) WorkerPool::Worker {
    std::atomic<std::uint64_t> state{kFree};
    std::atomic<std::uint64_t> began{0};              ///< ticks, of the last job
    alignas(64) std::atomic<std::uint32_t> woken{0};  ///< counts; what a sleeping worker waits for
    std::atomic<std::uint32_t> ended{0};              ///< what a sleeping caller waits for

    /// Posts a job if the worker is at `stage`.
    bool take(std::uint64_t posted, std::uint64_t stage) {
        std::uint64_t seen = stage;
        if (!state.compare_exchange_strong(seen, posted, std::memory_order_release, std::memory_order_relaxed)) { return false; }
        if (stage == kAsleep) {
            woken.fetch_add(1);
            woken.notify_one();
        }
        return true;
    }

    /// Returns when the worker is no longer at what was posted.
    void leave(std::uint64_t posted) {
        std::uint64_t seen = state.load(std::memory_order_acquire);
        if (seen == posted && state.compare_exchange_strong(seen, kFree, std::memory_order_acquire)) { return; }
        const std::uint64_t running = with_stage(posted, kRunning), awaited = with_stage(posted, kAwaited);
        if (seen != running || spin(state, kJoinSpinSeconds, [=](std::uint64_t s) { return s != running; }) != running) { return; }
        const std::uint32_t before = ended.load();
        seen = running;
        if (!state.compare_exchange_strong(seen, awaited, std::memory_order_acquire)) { return; }
        while (state.load(std::memory_order_acquire) == awaited) { ended.wait(before); }
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
    std::atomic<std::uint64_t>& state = worker->state;
    for (;;) {
        std::uint64_t seen = spin(state, kSpinSeconds, [](std::uint64_t s) { return stage_of(s) == kPosted; });
        if (stage_of(seen) == kPosted) {
            // On its way while this thread becomes the job's owner; it may be gone, which does not matter.
            Share* const share = job_of(seen);
            __builtin_prefetch(share);
            if (!state.compare_exchange_strong(seen, with_stage(seen, kRunning), std::memory_order_acquire)) { continue; }
            worker->began.store(ticks(), std::memory_order_relaxed);
            share->work(*share, slot_of(seen));
            if (stage_of(state.exchange(kFree)) == kAwaited) {
                worker->ended.fetch_add(1);
                worker->ended.notify_all();
            }
        } else if (seen == kFree) {
            const std::uint32_t before = worker->woken.load();
            if (state.compare_exchange_strong(seen, kAsleep, std::memory_order_acquire)) { worker->woken.wait(before); }
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

bool WorkerPool::run(Share& share, int helpers, bool (*wakes)(double seconds), double seconds) {
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&share));
    // Addresses with something in their upper bits are for nobody else.
    helpers = address_of(address) == address ? std::min(helpers, kMostWorkers) : 0;
    std::array<Taken, kMostWorkers> taken;  // NOLINT(cppcoreguidelines-pro-type-member-init): the first `used` are written
    int used = 0;
    const int count = count_.load(std::memory_order_acquire);
    const auto take_those = [&](std::uint64_t stage) {
        for (int i = 0; i < count && used < helpers; ++i) {
            Worker* const worker = workers_[static_cast<std::size_t>(i)].load(std::memory_order_relaxed);
            const std::uint64_t posted = (static_cast<std::uint64_t>(used + 1) << kSlotShift) + address + kPosted;
            if (worker->take(posted, stage)) { taken[static_cast<std::size_t>(used++)] = {worker, posted}; }
        }
    };
    take_those(kFree);
    const std::uint64_t called = ticks();
    const Worker* const first = used > 0 ? taken[0].worker : nullptr;
    const bool enough = used == helpers;
    if (!enough && wakes(seconds)) { take_those(kAsleep); }
    share.work(share, 0);
    for (int i = 0; i < used; ++i) {
        const Taken& it = taken[static_cast<std::size_t>(i)];
        it.worker->leave(it.posted);
    }
    const std::uint64_t began = first != nullptr ? first->began.load(std::memory_order_relaxed) : 0;
    // What began before belongs to another job: this one's was taken back, which costs next to nothing.
    if (began <= called || began >= ticks()) { return enough; }
    const double handoff = static_cast<double>(began - called) * seconds_of_tick();
    const double best = handoff_seconds_.load(std::memory_order_relaxed);
    const double later = best + kLaterShare * (std::min(handoff, kLatest) - best);
    handoff_seconds_.store(handoff < best ? handoff : later, std::memory_order_relaxed);
    return enough;
}

bool WorkerPool::is_near(double seconds) {
    if (handoff_seconds_.load(std::memory_order_relaxed) * kHandoffs <= seconds) { return true; }
    return refused_.fetch_add(1, std::memory_order_relaxed) % kRefusals < kTries;
}

}  // namespace tapline::core
