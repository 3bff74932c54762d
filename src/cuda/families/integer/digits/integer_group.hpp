// Integers as bytes that four warps multiply together: what the kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "cuda/families/integer/digits/integer_digits.hpp"
#include "cuda/families/integer/integer_signal.hpp"

namespace tapline::cuda::integer {

inline constexpr int kGroupThreads = 128;
inline constexpr int kGroupLine = 64;     // neighbouring outputs: a column of a product, whose rows they are
inline constexpr int kGroupTapLead = 24;  // words of zeros before a table's taps
inline constexpr int kGroupHeader = 384;  // bytes of shared memory before all else

/// Lines of a tile. The tensor cores wait for each other's products where their sums leave the compiler too few registers (it says
/// so, C7512): i32 with 2,047 taps 259 us with 64 lines, as then, and 205 with 32.
__host__ __device__ constexpr int group_lines(const Digits& d) { return d.sums == 1 ? 128 : d.sums <= 3 ? 64 : 32; }
__host__ __device__ constexpr int group_outputs(const Digits& d) { return kGroupLine * group_lines(d); }
/// Blocks of a multiprocessor, as far as registers go.
__host__ __device__ constexpr int group_blocks(const Digits& d) {
    const int registers = d.sums * group_lines(d) / 2 + 12 * d.taps;
    return registers <= 80 ? 4 : registers <= 120 ? 3 : 2;
}

/// Products along the taps for a window that begins up to `before` samples early.
__host__ __device__ constexpr int group_steps(std::int64_t taps, int before) {
    return static_cast<int>((taps + kGroupLine - 1 + before + 31) / 32);
}

struct Group {
    Signal signal;
    TapDigits taps;
    int table_words;                  // of one of the four shifts
    int part_bytes;                   // from one vector of 16 samples of a plane to the next: a plane is four parts
    int raw_at, planes_at, stage_at;  // bytes of shared memory, tables being behind the header
    unsigned flip;                    // of four bytes of samples: signs that are turned, so that none is negative
};

using GroupKernel = void (*)(Group g);
/// Null if there is none.
GroupKernel group_kernel(const Digits& digits);

}  // namespace tapline::cuda::integer

namespace tapline::cuda {
const Rung& integer_group();
}
