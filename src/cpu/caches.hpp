// What the caches hold.
#pragma once

#include <cstdint>

namespace tapline::cpu {

/// Whether an output is stored past the caches: where it and what is read for it would not stay there until somebody reads
/// them again, a line of a plain store is first read from memory for nothing. Bits do not depend on it.
bool stores_past_caches(double bytes_read, double bytes_written, int threads);

/// Elements of so many bytes from an address on before the first line of a cache that begins with one; 0 where one begins at once,
/// or never with an element.
std::int64_t elements_to_line(const void* address, std::int64_t element_bytes);

/// Whether lines so many bytes from each other share sets of the caches, of which each holds few.
constexpr bool share_sets(std::int64_t bytes_apart) { return bytes_apart % 2048 == 0; }

/// Bytes of the caches that so many threads share among each other and with nobody else.
double cache_bytes(int threads);

}  // namespace tapline::cpu
