// Which rows go through blocks of columns, and what these are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/lines/line_layout.hpp"

namespace tapline::cpu {

// Columns of a block: so many samples side by side that a line of the cache is read whole, of bytes too.
inline constexpr std::int64_t kMostColumns = 64;

/// How columns are made of a layout: `problem.batch` lies across a block, `problem.channels` follow each other in a sample, each a
/// column of its own. `parts`: those of complex samples; `in_pairs`: which are two rows side by side, each with a filter.
struct ColumnBlocks {
    core::Resolved problem;
    bool reordered = false, parts = false, in_pairs = false;
};

ColumnBlocks column_blocks(const LineLayout& layout);

/// The taps of so many filters, each of them twice, for blocks that are `in_pairs`.
std::vector<std::byte> taps_in_pairs(const ColumnBlocks& blocks, std::int64_t filters, const void* taps);

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

/// Whether outputs of blocks whose rows are so many `columns` may be stored past the caches: sums lie `pitch` elements from row to
/// row, outputs `stride`, of so many bytes.
bool streams_rows(std::int64_t columns, std::int64_t pitch, std::int64_t stride, std::int64_t element_bytes);

}  // namespace tapline::cpu
