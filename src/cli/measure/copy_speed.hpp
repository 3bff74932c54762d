// The yardstick: what copying memory costs on the same threads.
#pragma once

#include <cstddef>

namespace tapline::cli {

/// std::memcpy, cut into one contiguous part of at least 32 KiB for each thread.
void copy(void* out, const void* in, std::size_t bytes, int threads);

/// The same with streaming stores, which do not read the destination's cache lines first. `out` must be 64-byte aligned.
void streaming_copy(void* out, const void* in, std::size_t bytes, int threads);

/// Bytes read plus bytes written a second, median over repeated runs on touched buffers of `bytes` each.
struct CopySpeed {
    double memcpy_bytes_per_second = 0;
    double streaming_bytes_per_second = 0;
};
CopySpeed measure_copy_speed(std::size_t bytes, int threads);

}  // namespace tapline::cli
