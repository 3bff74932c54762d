// How much is read, converted or written at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapline::io {

#ifdef TAPLINE_IO_SMALL_BLOCKS
// For the fuzzers: their inputs are short, and have to cross the borders between blocks.
inline constexpr std::size_t kBufferBytes = 256;
inline constexpr std::size_t kSpoolBlockBytes = 1024;
inline constexpr std::int64_t kBlockElements = 64;
#else
inline constexpr std::size_t kBufferBytes = 64 << 10;
inline constexpr std::size_t kSpoolBlockBytes = 1 << 20;  // on the way to or from an unnamed temporary file
inline constexpr std::int64_t kBlockElements = 8192;      // between two types
#endif

}  // namespace tapline::io
