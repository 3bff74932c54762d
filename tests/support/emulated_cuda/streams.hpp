// Streams and events like CUDA's: a stream is a thread that does what is put into its queue, in order and later. What the library
// forgets to wait for is a race here as it would be on a device, and the thread sanitizer sees it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "cuda/abi.hpp"

namespace tapline::emulated {

struct EventState {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t recorded = 0, done = 0;

    std::uint64_t ticket() {
        const std::lock_guard lock(mutex);
        return recorded;
    }
    void finish(std::uint64_t ticket_done) {
        const std::lock_guard lock(mutex);
        done = std::max(done, ticket_done);
        changed.notify_all();
    }
    void wait(std::uint64_t ticket_wanted) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return done >= ticket_wanted; });
    }
};

}  // namespace tapline::emulated

namespace tapline::cuda_abi {

struct Event {
    std::shared_ptr<emulated::EventState> state = std::make_shared<emulated::EventState>();
};

struct Stream {
    Stream() : worker_([this] { work(); }) {}
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
            changed_.notify_all();
        }
        worker_.join();
    }

    void put(std::function<void()> operation) {
        const std::lock_guard lock(mutex_);
        queue_.push_back(std::move(operation));
        changed_.notify_all();
    }
    void wait_until_idle() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
    }

private:
    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [&] { return ends_ || !queue_.empty(); });
            if (queue_.empty()) { return; }
            const std::function<void()> operation = std::move(queue_.front());
            queue_.pop_front();
            busy_ = true;
            lock.unlock();
            operation();
            lock.lock();
            busy_ = false;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_;
    bool busy_ = false;
    bool ends_ = false;
    std::thread worker_;
};

}  // namespace tapline::cuda_abi
