// Rung 51: what its kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/primitives/lines/lines.hpp"

namespace tapline::cuda::columns {

inline constexpr int kOutputs = 8;    // neighbouring ones of a row, that a thread makes
inline constexpr int kMostWarps = 8;  // of a block

/// How a thread's rows lie.
enum class Way {
    alone,   // it has one
    vector,  // side by side, in a vector
    apart,   // every kRowLanes-th one: lanes of a warp have neighbouring ones, which need not begin where vectors do
    along,   // it has one; a block has neighbouring ones, all where they are few, and its threads follow each other along them
};
inline constexpr int kRowLanes = 32;

/// A thread's rows by the bytes of a sample: 16 bytes of sums, or two rows that are widened.
constexpr int rows_of_thread(Way way, int bytes) {
    return way == Way::alone || way == Way::along || bytes == 16 ? 1 : bytes == 4 ? 4 : 2;
}

/// Outputs of a thread along few rows, by the bytes of a sum: an odd number.
template <int kSumBytes>
inline constexpr int kAlongOutputs = kSumBytes == 4   ? 21
                                     : kSumBytes == 8 ? 11
                                                      : 5;
constexpr int along_outputs(int sum_bytes) {
    return sum_bytes == 4 ? kAlongOutputs<4> : sum_bytes == 8 ? kAlongOutputs<8> : kAlongOutputs<16>;
}

/// Row i of an axis has filter (first + i) % turn of it, which lie `step` filters apart.
struct FilterStep {
    std::int64_t step = 0, turn = 1, first = 0;
};

/// Which threads of a block go where, and which filters rows have.
struct Columns {
    int places_at;                   // bytes of shared memory before what is known of a window that leaves the signal
    int rows, together;              // along rows: of a block, at most; of a warp's lanes
    int outputs;                     // of each of these rows
    int tap_pitch;                   // taps from one row's to the next's in shared memory
    int samples_at, sums_at;         // bytes before the samples as they come, and as sums
    int stage_pitch;                 // where outputs lie along rows: sums from one row to the next in shared memory; else 0
    int stage_at;                    // bytes before these, of rows that threads do not follow each other along
    std::int64_t near_units, units;  // threads' rows, or a warp's where they lie apart, along Rows::near and all
    std::int64_t filter_bytes;       // from one filter to the next; 0: one for all
    std::int64_t first_filter;       // of all rows
    FilterStep near, others[Rows::kMostOthers];
};

using Kernel = void (*)(Arguments a, Rows rows, Columns g);

/// Of samples of a type and taps of another, with one filter or one a row; null if there is none.
Kernel kernel_of(Dtype dtype, Dtype taps_dtype, Way way, bool own);

}  // namespace tapline::cuda::columns
