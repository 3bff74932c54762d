// Copies that leave the caches alone.
#pragma once

#include <cstddef>

namespace tapline::core {

/// memcpy whose stores go past the caches where the processor can be told so: what is written is not read first, and nothing that
/// is in use is driven out. For outputs larger than the caches.
void stream_copy(void* to, const void* from, std::size_t bytes);

}  // namespace tapline::core
