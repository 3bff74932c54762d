// Rung 60: what its kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::words {

inline constexpr int kOutputs = 8;    // neighbouring ones of a row, that a thread makes
inline constexpr int kThreads = 128;  // of a block
/// Floats in which a warp's outputs change places: one more for each 32, so that lanes meet in no bank whichever way they go.
inline constexpr int kStage = 32 * kOutputs + kOutputs;

struct Words {
    std::int64_t threads;     // of a row
    std::int64_t recordings;  // of interleaved channels, whose rows neighbouring threads have: one where rows are long
    int channels;             // of a recording
    int groups;               // of so many neighbouring threads in a warp
    std::int64_t in_recording, out_recording, in_channel, out_channel;
    std::int64_t begin, end;    // elements from the first row's first sample to the lowest and behind the highest of all rows
    int before, behind;         // positions beyond the ends of a row's piece that windows read
    int stage_at, places_at;    // bytes of shared memory before the stages and before where samples beyond the ends are
    unsigned char constant[4];  // the boundary's, as an element of the samples' type
    Dtype input_type;
    int output_bytes;
};

using Kernel = void (*)(Arguments a, Words g);

/// Of samples of a type; null if there is none.
Kernel kernel_of(Dtype dtype);

}  // namespace tapline::cuda::words
