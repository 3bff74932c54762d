// Counts what any thread allocates while a Counting lives.
#pragma once

#include <atomic>
#include <cstdint>

namespace tapline::test {

/// Whether this build can count: with glibc, and without a sanitizer, whose allocator stands in the same place.
bool can_count_allocations() noexcept;

/// malloc(), calloc(), realloc(), aligned_alloc() and their kin of all threads, and by these operator new.
class Counting {
public:
    Counting() noexcept;
    ~Counting();
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;
    [[nodiscard]] std::int64_t here() const noexcept;       ///< of this thread
    [[nodiscard]] std::int64_t elsewhere() const noexcept;  ///< of all others
};

}  // namespace tapline::test
