// Tiles of lines: what a block holds of several rows side by side, whatever the order in which memory has them. Host code reads it
// too.
#pragma once

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {

/// A batch axis: elements from one row to the next.
struct RowAxis {
    std::int64_t length = 1, in = 0, out = 0;
};

/// Rows of up to five batch axes. Those of one of them share tiles; each combination of the others has tiles of its own.
struct Rows {
    static constexpr int kMostOthers = 4;
    RowAxis near;                 // its neighbours share tiles
    RowAxis others[kMostOthers];  // the innermost first
    std::int64_t near_tiles;      // along `near`
    std::int64_t filters;         // 1: one for all; else row r of the batch has filter (first_filter + r) % filters
    std::int64_t first_filter;
    int batch_axis;              // which of them is the batch: of the others, or -1: near
    int lines;                   // of a tile, at most
    std::int64_t tiles;          // of all rows
    unsigned char constant[16];  // the boundary's, as an element of the samples' type
    Dtype input_type;
    int input_bytes, output_bytes;  // of an element
};

/// The rows of a problem's batch axes in a job. `near` is the axis whose neighbours are nearest in memory.
Rows rows_of(const Problem& p, const Job& job);

/// The same of a problem's own job.
Rows rows_of(const Problem& p);

/// Numbers tiles of so many lines, `tiles_of_row` along each. Throws CudaError where one launch has no room for them.
void set_tiles(Rows& rows, int lines, std::int64_t tiles_of_row);

/// The boundary's constant as an element of the samples' type, up to 16 bytes; whether it is one exactly (of floating-point types
/// it is rounded).
bool raw_constant(const Problem& p, unsigned char* to);

/// Whether an integer type of samples has the boundary's constant, if the boundary is one; of floating-point types it is rounded.
bool constant_fits(const Problem& p);

}  // namespace tapline::cuda
