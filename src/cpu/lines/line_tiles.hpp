// Signals of any layout and type by an algorithm for packed lines of floating-point samples.
#pragma once

#include "core/choice/engine.hpp"
#include "cpu/lines/line_layout.hpp"

namespace tapline::cpu {

/// Makes the executable of an algorithm for the lines of a tile: a problem of one thread, with so many rows and one filter, which
/// is the plan's filter of this number.
using PrepareLines = std::function<std::unique_ptr<core::Executable>(const core::Resolved& lines, const core::Request& request,
                                                                     std::int64_t filter)>;

/// `rows_together`: how many the algorithm computes at once, 1 or 2. `layout` is one of tiles. Rows with filters of their own have
/// an executable for each filter, and are computed one by one.
std::unique_ptr<core::Executable> prepare_tiles(const LineLayout& layout, const core::Request& request, std::int64_t rows_together,
                                                const PrepareLines& prepare);

/// Rows side by side: `prepare` makes the executable of the problem of layout.problem's batch, of so many threads.
std::unique_ptr<core::Executable> prepare_side_by_side(const LineLayout& layout, const core::Request& request,
                                                       const PrepareLines& prepare);

/// What moving samples to lines and outputs back takes beside the algorithm's own time, on all threads together.
double seconds_of_moving(const LineLayout& layout);

}  // namespace tapline::cpu
