// Signals of any layout by way of rows that lie one after the other.
#pragma once

#include "cuda/primitives/lines/lines.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

const Rung& transposed_rows();

namespace transposed {

inline constexpr int kThreads = 256;

/// Elements of a tile of so many bytes each: a power of two, 16 KB of them, and no more than 16 for each thread.
constexpr int tile_elements(int bytes) { return bytes <= 4 ? 16 * kThreads : 16 * 1024 / bytes; }
/// Lines of a tile at most: of 32 bits and more a line of memory or two, of less half of one.
constexpr std::int64_t most_lines(int bytes) { return bytes < 4 ? 64 : 32; }
template <int kBytes>
inline constexpr int kTileElements = tile_elements(kBytes);
/// Of a group of lines (below) a block's threads take at least one element each.
inline constexpr int kGroupLog2 = 8;
static_assert(1 << kGroupLog2 == kThreads);

/// One side of a passage, in elements: where its samples lie. Rows are counted along their axis nearest in memory, then along the
/// others, the innermost first.
struct Side {
    std::int64_t sample;
    std::int64_t near;
    std::int64_t others[Rows::kMostOthers];
};

/// Rows as they lie in memory, and one after the other.
struct Passage {
    const void* from;
    void* to;
    Side apart;            // the side that is not packed
    std::int64_t samples;  // of a row
    std::int64_t pitch;    // on the packed side, from one row to the next
    std::int64_t near;     // rows along that axis
    std::int64_t lengths[Rows::kMostOthers];
    std::int64_t first_other;  // of all others' combinations, where the rows begin
    std::int64_t near_tiles = 1, sample_tiles = 1;
    // Where all rows of the near axis, as wide as they are, are less than a tile, it holds those of several places of the next
    // axis.
    std::int64_t group_tiles = 1, group_length = 1, group_step = 0;
    int lines_log2 = 0, width_log2 = 0;  // of a group: its rows, and samples of them
};

using Kernel = void (*)(Passage);
/// To packed rows, or from them; of elements of so many bytes, `halved` where they may lie at multiples of half of that. `grouped`:
/// a tile holds several groups.
Kernel kernel_of(int bytes, bool halved, bool to_rows, bool grouped);

}  // namespace transposed

}  // namespace tapline::cuda
