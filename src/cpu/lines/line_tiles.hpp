// Signals of any layout and type by an algorithm for packed lines of floating-point samples.
#pragma once

#include "core/choice/engine.hpp"
#include "cpu/lines/line_layout.hpp"

namespace tapline::cpu {

/// An executable of one line under any of its filters.
class LinesExecutable : public core::Executable {
public:
    /// execute() for row 0 of output and input, as if it were row `filter` of the batch, in the calling thread. `past_caches`: of a
    /// result that fills them.
    virtual void execute_line(std::int64_t filter, const core::Output& output, const core::Input& input, bool past_caches,
                              std::span<std::byte> workspace) const = 0;
    /// Whether zeros and constants beyond the signal's ends may be given as samples.
    [[nodiscard]] virtual bool takes_extended_lines() const = 0;
    /// The real taps of a filter if outputs are plain sums of their products, one tap after the other; else null.
    [[nodiscard]] virtual const void* taps_in_order(std::int64_t /*filter*/) const { return nullptr; }
};

/// Makes the executable of an algorithm for the lines of a tile: a problem with so many rows, and filters from this one of the
/// plan's on.
using PrepareLines = std::function<std::unique_ptr<core::Executable>(const core::Resolved& lines, const core::Request& request,
                                                                     std::int64_t filter)>;

/// `rows_together`: how many the algorithm computes at once, 1 or 2. `all_filters`: `prepare` makes a LinesExecutable, of all
/// filters; else rows with filters of their own have an executable for each filter. `layout` is one of tiles.
std::unique_ptr<core::Executable> prepare_tiles(const LineLayout& layout, const core::Request& request, std::int64_t rows_together,
                                                bool all_filters, const PrepareLines& prepare);

/// Rows side by side: `prepare` makes the executable of the problem of layout.problem's batch, of so many threads.
std::unique_ptr<core::Executable> prepare_side_by_side(const LineLayout& layout, const core::Request& request,
                                                       const PrepareLines& prepare);

/// An element of a line on its way there or back where neighbours in memory are those of other rows, and where they are its own:
/// 2^22 samples of 64 columns take 2.5 ms each way, 2^18 of 32, which stay in the caches, 0.04 ms; 2^20 of 16 bits 0.1 to 0.15 ms
/// more than of 32 (one thread, AVX2 and AVX-512).
inline constexpr double kApartSeconds = 0.6e-9, kApartNearSeconds = 0.2e-9;
inline constexpr double kWidenSeconds = 0.13e-9;

/// Of an element whose neighbours in memory are those of other rows, in work of so many threads.
double seconds_apart(const core::Resolved& problem, int threads);

/// What moving samples to lines and outputs back takes beside the algorithm's own time, on all of so many threads together.
double seconds_of_moving(const LineLayout& layout, int threads);

}  // namespace tapline::cpu
