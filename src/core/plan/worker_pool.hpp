// The process's threads, which wait for work.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace tapline::core {

/// A worker that has run out of work looks for more during kSpinSeconds and then sleeps. One that looks starts 0.03 us after it is
/// called; one that sleeps 30 to 60 us after, and calling it costs the caller about 5 (AMD EPYC, virtual machine): spinning as
/// long as a wake takes costs at most twice what the best choice in hindsight would have.
inline constexpr double kSpinSeconds = 100e-6;

/// What a worker needs of a job, which begins with it: all in one line of the cache, for which it waits. `work` is called with
/// each slot at most once, and must not throw.
struct alignas(64) Share {
    void (*work)(Share& job, int slot);
};

/// A caller takes workers that have nothing to do, works himself, and takes back those that did not come in time: he never waits
/// for a thread to wake up. So many threads may call at once, also from inside a share, and a call never takes longer than the
/// caller alone would. A process that was forked starts with no workers and gets new ones.
class WorkerPool {
public:
    static constexpr int kMostWorkers = 255;
    static constexpr int kMostSlots = kMostWorkers + 1;

    static WorkerPool& instance();

    /// Calls share.work(share, 0) here and share.work(share, 1 ... ) on up to `helpers` workers, of which those that look for work
    /// are taken, and where they are fewer, if wakes() says so, those that sleep. Returns when all that began have ended: true
    /// where as many looked for work.
    bool run(Share& share, int helpers, bool (*wakes)(double seconds), double seconds);

    /// Whether a worker that looked for work began lately so soon after it was called that work of so many seconds on one thread
    /// pays for one. Where cores share no cache it takes 0.1 us and more instead of 0.03. Says yes at times all the same: it can
    /// have changed, as a virtual machine's cores do.
    bool is_near(double seconds);

    /// Starts threads, so that there are `helpers` workers, or as many as the system allows. They stay.
    void reserve(int helpers);

    WorkerPool() = default;
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

private:
    struct Worker;
    struct Taken {
        Worker* worker;
        std::uint64_t posted;  ///< what its state was set to
    };
    static void live(Worker* worker);
    bool start_one();

    std::array<std::atomic<Worker*>, kMostWorkers> workers_{};
    std::atomic<int> count_{0};
    std::atomic<double> handoff_seconds_{0};  ///< from a call to a worker's begin, of the last few
    std::atomic<unsigned> refused_{0};
    std::mutex starting_;
};

}  // namespace tapline::core
