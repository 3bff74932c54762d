// Rung 33: what its kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/families/direct/rows/direct_tiles.hpp"

namespace tapline::cuda::rows {

using tiles::kOutputs;
using tiles::kWarps;

/// Rows one after the other on a line, with room between them for what their windows read past their ends; tiles are stretches of
/// it.
struct Line {
    std::int64_t pitch;  // places from one row to the next
    std::int64_t tiles;  // of a line
    int tiles_of_warp;   // one after the other
    int by_places;       // rows are short: lanes go from place to place, whichever row it belongs to
    int step;            // places in shared memory from sample to sample: what lies between them comes along
    int front;           // elements in front of a tile's samples, for what is read of them too far
    int in_elements;     // of a tile's samples as they lie in memory, with those
    int buffer_bytes;    // there are two of them
    int sums_at;         // bytes before the samples as sums; 0: they are sums as they come
    int warp_bytes, taps_at;
    int sources_at;  // of short rows: what each place of a row reads
};

using Kernel = void (*)(Arguments a, Rows rows, Line g);

/// Null if there is none for these types.
Kernel kernel_of(Dtype sum_dtype, Dtype taps_dtype);

}  // namespace tapline::cuda::rows
