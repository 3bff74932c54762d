// Host memory at cache-line boundaries, whose failure is an Error.
#pragma once

#include <memory>
#include <new>
#include <string>

#include "tapline/error.hpp"

namespace tapline::core {

inline constexpr std::size_t kAlignment = 64;

struct AlignedDelete {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{kAlignment}); }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

/// Asks the system for large pages, where there is room for them, of memory that is about to be filled: 67 MB in small ones take
/// 30 ms to come (AMD EPYC, virtual machine). Says nothing where the system has none.
void prefer_large_pages(void* data, std::size_t bytes);

/// Throws Error (memory), naming `what` it was for.
inline AlignedBytes allocate(std::size_t bytes, const char* what) {
    auto* p = static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{kAlignment}, std::nothrow));
    if (p == nullptr) {
        throw Error(ErrorCode::memory, std::string(what) + ": " + std::to_string(bytes) + " bytes could not be allocated");
    }
    prefer_large_pages(p, bytes);
    return AlignedBytes(p);
}

}  // namespace tapline::core
