// Buffers that go round between threads.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "cli/shared/elements.hpp"

namespace tapline::cli {

/// Hands out buffers and takes them back. Fresh megabytes cost a page fault every 4 KiB, as much as reading them from the
/// page cache; buffers that go round cost nothing.
class BufferPool {
public:
    /// At least `size` bytes.
    Bytes take(std::size_t size) {
        {
            const std::scoped_lock lock(mutex_);
            while (!free_.empty()) {
                Bytes bytes = std::move(free_.back());
                free_.pop_back();
                if (bytes.size() >= size) return bytes;  // smaller ones are of a stage that asks for more now: freed
            }
        }
        return Bytes(size);
    }

    void give(Bytes bytes) {
        constexpr std::size_t kMostKept = 4;
        const std::scoped_lock lock(mutex_);
        if (free_.size() < kMostKept) free_.push_back(std::move(bytes));
    }

private:
    std::mutex mutex_;
    std::vector<Bytes> free_;
};

}  // namespace tapline::cli
