// Taps as algorithms take them.
#pragma once

#include "core/plan/host_memory.hpp"
#include "core/problem/resolved.hpp"

namespace tapline::core {

/// r.filters rows of r.taps() packed elements in correlation order, from the caller's: reversed along every axis for convolution,
/// conjugated for correlation. `offset`: elements into the caller's taps where the set of filters begins.
AlignedBytes correlation_taps(const Resolved& r, const void* taps, std::int64_t offset);

}  // namespace tapline::core
