// parallel_for: every task once, in slots of its own, whoever calls and whatever the bodies do.
#include "core/plan/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tapline::core {
namespace {

// Counts the calls of every task, and those that found their slot in use.
class Watched {
public:
    Watched(std::int64_t tasks, int threads) : calls_(static_cast<std::size_t>(tasks)), slots_(static_cast<std::size_t>(threads)) {}

    void operator()(std::int64_t task, int slot) {
        std::atomic<int>& users = slots_.at(static_cast<std::size_t>(slot));
        if (users.fetch_add(1) != 0) { ++clashes_; }
        ++calls_.at(static_cast<std::size_t>(task));
        for (int i = 0; i < 200; ++i) { work_.fetch_add(1, std::memory_order_relaxed); }
        users.fetch_sub(1);
    }
    void expect_each_once() const {
        EXPECT_EQ(clashes_.load(), 0);
        EXPECT_TRUE(std::all_of(calls_.begin(), calls_.end(), [](const std::atomic<int>& calls) { return calls.load() == 1; }));
    }

private:
    std::vector<std::atomic<int>> calls_;
    std::vector<std::atomic<int>> slots_;
    std::atomic<int> clashes_{0}, work_{0};
};

void run_watched(std::int64_t tasks, int threads) {
    Watched watched(tasks, threads);
    parallel_for(tasks, threads, std::ref(watched));
    watched.expect_each_once();
}

TEST(Parallel, EveryTaskOnceInASlotOfItsOwn) {
    for (const int threads : {1, 2, 3, 7, 1000}) {
        for (const std::int64_t tasks : {0, 1, 2, 3, 31, 1000}) {
            for (int repeat = 0; repeat < 20; ++repeat) { run_watched(tasks, threads); }
        }
    }
}

TEST(Parallel, WorkersThatFellAsleepComeAgain) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        run_watched(64, 2);
    }
}

TEST(Parallel, ManyCallersAtOnce) {
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 6; ++caller) {
        callers.emplace_back([caller] {
            for (int repeat = 0; repeat < 200; ++repeat) { run_watched(1 + (caller + repeat) % 17, 1 + caller % 4); }
        });
    }
    for (std::thread& caller : callers) { caller.join(); }
}

TEST(Parallel, InsideABody) {
    std::array<std::atomic<int>, 8> sums{};
    parallel_for(8, 4, [&](std::int64_t outer, int) {
        parallel_for(100, 4, [&](std::int64_t, int) { ++sums.at(static_cast<std::size_t>(outer)); });
    });
    for (const std::atomic<int>& sum : sums) { EXPECT_EQ(sum.load(), 100); }
}

TEST(Parallel, AnExceptionIsRethrownAndTheRestLeftOut) {
    for (int repeat = 0; repeat < 50; ++repeat) {
        std::atomic<int> after{0};
        EXPECT_THROW(parallel_for(1000, 3,
                                  [&](std::int64_t task, int) {
                                      if (task == repeat) { throw std::runtime_error("here"); }
                                      ++after;
                                  }),
                     std::runtime_error);
        EXPECT_LT(after.load(), 1000);
        run_watched(100, 3);
    }
}

// Work of a few microseconds goes to a helper or not, as its last begins were soon or late: every task is done either way.
TEST(Parallel, LittleWorkIsDoneOnceWhetherSharedOrNot) {
    std::array<std::atomic<int>, 4> calls{};
    for (int repeat = 1; repeat <= 20000; ++repeat) {
        parallel_for(
            4, 3, [&](std::int64_t task, int) { calls.at(static_cast<std::size_t>(task)).fetch_add(1); },
            1.5e-6 + 1e-7 * (repeat % 30));
        for (const std::atomic<int>& each : calls) { ASSERT_EQ(each.load(), repeat); }
    }
}

TEST(Parallel, TasksAreAtLeastAsManyAsThreads) {
    for (const int threads : {1, 2, 8, 64}) {
        for (const double seconds : {1e-6, 2e-6, 1e-5, 1e-4, 1e-2}) {
            EXPECT_GE(good_number_of_tasks(seconds, threads), worthwhile_threads(seconds, threads));
        }
        EXPECT_LE(good_number_of_tasks(kLongSeconds, threads), 16 * threads);
    }
}

// A caller who sleeps until a helper has ended is woken.
TEST(Parallel, AHelperThatTakesLongIsWaitedFor) {
    for (int repeat = 0; repeat < 5; ++repeat) {
        std::atomic<int> done{0};
        parallel_for(2, 2, [&](std::int64_t, int slot) {
            if (slot == 1) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }
            if (slot == 0) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
            ++done;
        });
        EXPECT_EQ(done.load(), 2);
    }
}

TEST(Parallel, LittleWorkStaysWithTheCaller) {
    const std::thread::id here = std::this_thread::get_id();
    for (int repeat = 0; repeat < 100; ++repeat) {
        parallel_for(
            100, 4,
            [&](std::int64_t, int slot) {
                EXPECT_EQ(std::this_thread::get_id(), here);
                EXPECT_EQ(slot, 0);
            },
            1e-6);
    }
}

TEST(Parallel, ThreadsThatWorkIsWorth) {
    EXPECT_EQ(worthwhile_threads(0, 8), 1);
    EXPECT_EQ(worthwhile_threads(1e-6, 8), 1);
    EXPECT_EQ(worthwhile_threads(1, 8), 8);
    EXPECT_EQ(worthwhile_threads(kLongSeconds, 8), 8);
    EXPECT_EQ(worthwhile_threads(1, 0), 1);
    for (const double seconds : {1e-6, 1e-5, 3e-5, 1e-3}) {
        EXPECT_LE(seconds_on_threads(seconds, 4), seconds);
        EXPECT_GE(seconds_on_threads(seconds, 4), seconds / 4);
    }
}

// A child has only the thread that forked: its workers are new ones.
TEST(Parallel, AfterAFork) {
#if defined(TAPLINE_SANITIZES_THREADS)
    GTEST_SKIP() << "the thread sanitizer does not follow threads into a child";
#endif
#if defined(TAPLINE_EMULATED_PROCESSOR)
    GTEST_SKIP() << "QEMU's user emulation ends where a child starts threads";
#endif
    run_watched(100, 2);
    const pid_t child = fork();
    if (child == 0) {
        std::atomic<int> done{0};
        for (int repeat = 0; repeat < 10; ++repeat) {
            parallel_for(100, 2, [&](std::int64_t, int) { ++done; });
        }
        _exit(done.load() == 1000 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    run_watched(100, 2);
}

}  // namespace
}  // namespace tapline::core
