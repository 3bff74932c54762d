// Sizes of the separable kernel for means: masks whose taps are all the same.
#pragma once

#include "cuda/families/separable/separable.hpp"

namespace tapline::cuda::image_boxes_rung {

inline constexpr int kRun = 16;  // outputs of a thread a step, down columns and along rows
inline constexpr int kMostThreads = 512;
inline constexpr int kUsualThreads = 384;
inline constexpr int kMostWidth = kMostThreads / 2;  // taps along rows
inline constexpr int kBlocks = 1;                    // of a multiprocessor
static_assert(kRun == image_separable_rung::kSide);

/// How the taps of one axis are put together for `kRun` neighbouring outputs, of which number i ends the window of number 0 by i
/// samples and begins it i samples later: kRun samples at the window's beginning, whole runs, `rest` samples, kRun samples from the
/// window's end on.
struct Window {
    int runs;  // whole ones in between
    int rest;
};
constexpr Window window_of(int taps) { return {taps / kRun - 1, taps % kRun}; }

/// How a block marches: a thread has a column of the window.
struct Boxes {
    int tile_columns;  // outputs of a row, a multiple of kRun
    int segment_rows;  // output rows of a block
    int pitch;         // floats from row to row in shared memory: one more than a multiple of 32
    Window down, along;
    float tap;
};

constexpr int threads_of(int tile_columns, int width) { return (tile_columns + width - 1 + 31) / 32 * 32; }
constexpr int pitch_of(int threads) { return threads + 1; }
/// Bytes of shared memory: rows of sums and of outputs, of each run its total and its head, totals of runs down columns.
constexpr std::size_t bytes_of(int threads, const Window& down) {
    return static_cast<std::size_t>(2 * kRun * pitch_of(threads) + (2 + down.runs) * threads) * sizeof(float);
}

}  // namespace tapline::cuda::image_boxes_rung
