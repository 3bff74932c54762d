// Where parts of a workspace begin: at multiples of 256 bytes, of memory that may begin anywhere.
#pragma once

#include <cstdint>

#include "cuda/families/common/grids.hpp"

namespace tapline::cuda {

/// Of a part of a workspace; and how much a workspace takes more than its parts, for the first of them.
inline constexpr std::int64_t kWorkspaceAlignment = 256;

/// Bytes of a part, so that the next one begins as it should.
inline std::int64_t aligned_bytes(std::int64_t bytes) { return divide_up(bytes, kWorkspaceAlignment) * kWorkspaceAlignment; }

/// Where the first part begins.
inline char* aligned(void* memory) {
    auto* const bytes = static_cast<char*>(memory);
    return bytes + -reinterpret_cast<std::uintptr_t>(bytes) % kWorkspaceAlignment;
}

}  // namespace tapline::cuda
