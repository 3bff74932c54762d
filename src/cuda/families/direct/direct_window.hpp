// Rung 18: what its kernels and their launches share.
#pragma once

#include <cuda_runtime.h>

#include <variant>

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::window {

inline constexpr int kThreads = 128;  // of a block
/// Vectors of f32 taps for which there are unrolled kernels.
inline constexpr int kLeastUnrolled = 7;
inline constexpr int kMostUnrolled = 33;

/// Taps that the kernels take by value: 2 KiB.
template <class H>
struct TapsByValue {
    static constexpr int kSlots = 2048 / static_cast<int>(sizeof(H));
    H value[kSlots];
};

/// How rows are divided into windows and windows among warps.
struct Windows {
    int windows;                  // of a row
    int tiles, slots, buffers;    // tiles of a window; taps, rounded up; windows that a warp holds at a time
    int inner_first, inner_last;  // the windows of every row that lie inside the piece and whose outputs are all wanted
    std::int64_t start;           // from sample in_first to the first one of window 0
    int shift;                    // outputs that window 0 begins early; as start, of inner windows
    int step_windows;             // from one of a warp's windows to its next: so many rows and windows
    std::int64_t step_rows;
};

template <class H>
using KernelWithTaps = void (*)(Arguments a, TapsByValue<H> taps, Windows windows);
/// By the taps' type; null if there is no such kernel.
using WindowKernel = std::variant<KernelWithTaps<float>, KernelWithTaps<double>, KernelWithTaps<float2>, KernelWithTaps<double2>>;

WindowKernel kernel_of(Dtype dtype, Dtype taps_dtype, int vectors, bool row_taps);
/// For f32 and one filter, null if there is none for so many taps; `vectors` is set to what a thread then makes.
KernelWithTaps<float> unrolled_kernel(int taps, int* vectors);

}  // namespace tapline::cuda::window
