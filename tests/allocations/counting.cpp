#include "allocations/counting.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdlib>

#if defined(__GLIBC__) && !defined(TAPLINE_SANITIZED)
#define TAPLINE_CAN_COUNT 1
#else
#define TAPLINE_CAN_COUNT 0
#endif

namespace tapline::test {
namespace {

std::atomic<bool> counting{false};
std::atomic<std::int64_t> elsewhere_count{0};
std::atomic<std::int64_t> here_count{0};
// Set in the thread that counts. Initial-exec: the first touch of another model's variable may allocate.
__attribute__((tls_model("initial-exec"))) thread_local bool is_here = false;

#if TAPLINE_CAN_COUNT
void note() noexcept {
    if (!counting.load(std::memory_order_relaxed)) { return; }
    (is_here ? here_count : elsewhere_count).fetch_add(1, std::memory_order_relaxed);
}
#endif

}  // namespace

bool can_count_allocations() noexcept { return TAPLINE_CAN_COUNT != 0; }

Counting::Counting() noexcept {
    is_here = true;
    here_count = elsewhere_count = 0;
    counting = true;
}

Counting::~Counting() {
    counting = false;
    is_here = false;
}

std::int64_t Counting::here() const noexcept { return here_count; }
std::int64_t Counting::elsewhere() const noexcept { return elsewhere_count; }

}  // namespace tapline::test

#if TAPLINE_CAN_COUNT
// The program's own allocation functions come before those of the C library, in every library that it loads.
extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
    tapline::test::note();
    return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
    tapline::test::note();
    return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
    tapline::test::note();
    return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
    tapline::test::note();
    return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    tapline::test::note();
    return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
    tapline::test::note();
    *result = __libc_memalign(alignment, bytes);
    return *result == nullptr ? ENOMEM : 0;
}
}
#endif
