#include "core/plan/host_memory.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace tapline::core {

void prefer_large_pages(void* data, std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
    constexpr std::size_t kPage = std::size_t{2} << 20;
    const std::size_t before = (kPage - reinterpret_cast<std::uintptr_t>(data) % kPage) % kPage;
    const std::size_t whole = bytes > before ? (bytes - before) / kPage : 0;
    // Where it is less, memory is likely to have been in use before, and the call would take longer than it saves.
    if (whole >= 2) { madvise(static_cast<std::byte*>(data) + before, whole * kPage, MADV_HUGEPAGE); }
#else
    (void)data, (void)bytes;
#endif
}

}  // namespace tapline::core
