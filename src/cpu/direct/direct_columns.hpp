// Direct sums down rows that lie side by side and are narrower than their sums, have filters of their own, or are short: also of
// complex samples and interleaved channels, backwards and of every second sample.
#pragma once

#include "core/choice/engine.hpp"
#include "cpu/lines/line_layout.hpp"

namespace tapline::cpu {

/// Whether the rows of a layout go through blocks of columns: as they lie, without becoming lines.
bool takes_columns(const LineLayout& layout, const core::Request& request);

/// Of all threads together.
double seconds_of_columns(const LineLayout& layout);

/// `taps`: layout.filters of them.
std::unique_ptr<core::Executable> prepare_columns(const LineLayout& layout, const void* taps, const core::Request& request);

}  // namespace tapline::cpu
