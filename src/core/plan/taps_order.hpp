// Taps as algorithms take them.
#pragma once

#include <vector>

#include "core/plan/host_memory.hpp"
#include "core/problem/resolved.hpp"

namespace tapline::core {

/// r.filters rows of r.taps() packed elements in correlation order, from the caller's: reversed along every axis for convolution,
/// conjugated for correlation. `offset`: elements into the caller's taps where the set of filters begins.
AlignedBytes correlation_taps(const Resolved& r, const void* taps, std::int64_t offset);

/// Such rows for each set of filters that the outer axes step through.
std::vector<AlignedBytes> ordered_sets(const Resolved& r, const void* taps);

/// Those sets one after the other.
AlignedBytes joined_sets(const Resolved& r, const std::vector<AlignedBytes>& sets);

}  // namespace tapline::core
