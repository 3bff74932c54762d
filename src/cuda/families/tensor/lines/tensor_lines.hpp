// Rung 34, rows in any layout on tensor cores: what its kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/primitives/lines/lines.hpp"
#include "cuda/primitives/tile_sizes.hpp"

namespace tapline::cuda::tensor_lines {

inline constexpr int kWarps = 8;  // of a block, which makes a tile
inline constexpr int kThreads = 32 * kWarps;
inline constexpr int kBlocksHeld = 2;                   // by a multiprocessor: a thread has 128 registers
inline constexpr int kColumn = 128;                     // outputs of a column of the product
inline constexpr int kGroup = 8;                        // columns that a warp makes, neighbouring lines at one time
inline constexpr int kColumnsOfTile = kWarps * kGroup;  // at most
inline constexpr int kMostLines = 64;
inline constexpr int kMostOutputs = 1024;  // of a line, whose samples have one scale
inline constexpr int kUnit = 8;            // samples that a thread takes at a time: 16 bytes of halves
inline constexpr int kMostUnits = 7;       // that it holds
inline constexpr int kMostTaps = 320;
inline constexpr int kPlaceBytes = 48;  // of a tile's place

/// Tiles are numbered by a mixed radix: one of its digits. number / length = (number * factor / 2^32 + number) / 2^shift.
struct Digit {
    unsigned length, factor;
    int shift;
    int rows;              // along Rows::near, for each
    std::int64_t in, out;  // elements
    std::int64_t outputs;  // along a row
};

/// A tile: `lines` lines of `columns` columns each, lines * columns <= 64. Lines are neighbouring rows, or stretches of them one
/// after the other: line i is stretch i / rows of row i % rows.
/// Shared memory: lines of high halves, `line_bytes` apart; the same of low ones, `low_at` bytes on; tables of taps as
/// split_taps_to_halves() has them; the taps with zeros around them; two rows of largest magnitudes; three tiles' places; samples
/// as they came.
struct Shape {
    int lines;            // a power of two from 8 on, so that neighbouring ones are a warp's columns
    int columns;          // of a line
    int rows, stretches;  // of a tile
    int across;           // samples of one time lie side by side in shared memory, not those of a line
    int vectors;          // samples are copied by vectors of 16 bytes (8, of 8 bits)
    int whole_units;      // across: samples of eight times one after the other as one run
    int pairs;            // outputs of two neighbouring lines are neighbours and lie on their common size
    int before;           // samples that a line begins too early, so that it may begin with a whole vector
    int units;            // of a line that products read
    int steps, entries;   // groups of 16 taps; of each table of taps
    int low_at, line_bytes, tables_at, padded_at, largest_at;
    int raw_at, raw_line,
        raw_unit;        // samples as they came: elements from line to line, or from stretch to stretch and unit to unit
    std::int64_t tiles;  // along a row
    unsigned all_tiles;
    int digits;
    Digit digit[2 + Rows::kMostOthers];
    std::int64_t first_output;  // of tile 0, from the job's first one
};

/// Samples that lines begin too early, so that their vectors begin where memory's do.
int before_of(const Problem& p);
/// Columns of a line: what a scale belongs to, and so the bits. One that a row does not fill has all of it.
int columns_of(const Problem& p, const Rows& rows);
/// Of a problem, or of a job as it lies, on a device whose blocks may have so much shared memory. `lines` is 0 where there is no
/// room for it; vectors, units and pairs need addresses.
Shape shape_of(const Problem& p, const Rows& rows, int columns, std::int64_t most_shared);
/// What a job's addresses allow of that, and its tiles' numbers; false: there are too many.
bool fit_to_job(Shape& g, const Arguments& a, const Rows& rows);
std::int64_t shared_bytes_of(const Shape& g, Dtype dtype);

using Kernel = void (*)(Arguments a, Rows rows, Shape g);

/// For samples of a type; null if there is none.
Kernel kernel_of(Dtype dtype);

}  // namespace tapline::cuda::tensor_lines

namespace tapline::cuda {

const Rung& tensor_lines_rung();

}  // namespace tapline::cuda
