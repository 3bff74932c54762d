// Which rows go through blocks of columns, and what these are.
#pragma once

#include <cstdint>
#include <optional>

#include "cpu/lines/line_layout.hpp"

namespace tapline::cpu {

// Columns of a block: so many samples side by side that a line of the cache is read whole, of bytes too.
inline constexpr std::int64_t kMostColumns = 64;

/// How columns are made of a layout: `problem.batch` lies across a block, `problem.channels` follow each other in a sample, each a
/// column of its own. `parts`: those of complex samples.
struct ColumnBlocks {
    core::Resolved problem;
    bool reordered = false, parts = false;
};

ColumnBlocks column_blocks(const LineLayout& layout);

/// Rows of one filter whose samples follow each other in memory backwards, or are every second or third element, in lines that hold
/// nothing else: they become rows side by side on their way to a block.
bool are_apart(const core::Resolved& problem);

/// Rows side by side under one filter of many taps, of which windows of all rows leave the L1 cache: they are summed where their
/// samples lie, memory in its own order, so many columns and outputs at a time. `share_sets`: but of samples so far from each other
/// that they share sets of that cache, which are copied first. None: other rows, and more taps than the kernel takes.
struct RowsOfMemory {
    std::int64_t columns, outputs;
    bool share_sets;
};
std::optional<RowsOfMemory> rows_of_memory(const core::Resolved& problem, std::int64_t most_taps);

/// Of so many outputs, on all threads together.
double seconds_in_columns(const core::Resolved& problem, double outputs);

}  // namespace tapline::cpu
