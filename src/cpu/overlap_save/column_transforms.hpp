// Transforms down rows that lie side by side: SIMD lanes across them, so that no sample is turned on its way.
#pragma once

#include "core/choice/engine.hpp"
#include "cpu/lines/line_layout.hpp"

namespace tapline::cpu {

/// Whether the rows of a layout of tiles go by transforms with a row in each lane.
bool takes_column_transforms(const LineLayout& layout, const core::Request& request);

/// Of all threads together.
double seconds_of_column_transforms(const LineLayout& layout);

/// `line`: the executable of one row of the layout, which computes what transforms cannot: where a sample is not finite, and quiet
/// passages beside loud ones. Null where the taps want that everywhere.
std::unique_ptr<core::Executable> prepare_column_transforms(const LineLayout& layout, const void* taps,
                                                            const core::Request& request, std::unique_ptr<core::Executable> line);

}  // namespace tapline::cpu
