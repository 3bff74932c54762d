// Overlap-save with segments of many large ones: what the kernels and their launches share.
#pragma once

#include "cuda/families/overlap_save/large/overlap_save_large.hpp"

namespace tapline::cuda::overlap_save {

/// A long segment of M points is as many parts of M / kParts points each, convolved by the kernel of large segments.
inline constexpr int kPartsBits = 5;
inline constexpr int kParts = 1 << kPartsBits;
inline constexpr int kLeastLongBits = kLeastLargeBits + kPartsBits;
inline constexpr int kMostLongBits = 27;
inline constexpr int kLongThreads = 256;
inline constexpr int kMostLongMarks = (2 << kMostLongBits) / kMarkSamples;

/// What the launches for one segment tell each other. Zero before them.
struct LongState {
    unsigned bad;        // it has samples that are not finite
    unsigned overflown;  // outputs are not finite, although all samples were
    unsigned marks[kMostLongMarks / 32];
};

/// A segment, or taps as if they were one.
struct LongSegment {
    void* points;  // (kParts, 2^part_bits)
    LongState* state;
    std::int64_t start;         // from sample in_first to the segment's first one
    std::int64_t first_output;  // of the job
    std::int64_t row;
    int part_bits;
    int skip, used;  // its outputs read its samples [skip, used)
    int wanted;      // outputs
    int real_taps;   // of complex samples
    int again;       // with scaled samples, if there was an overflow
    int of_taps;     // as they are, conjugated
    int conjugated;  // of taps: they are already
    double scale;    // of samples
};

using LongKernel = void (*)(Arguments a, LongSegment g);

/// Splits samples of a type into parts, and joins the parts' outputs; none for integers.
struct LongKernels {
    LongKernel split = nullptr, join = nullptr;
};
LongKernels pick_long_kernels(Dtype samples);
/// Splits taps; their points are of double if `wide`. `is_complex`: the samples.
LongKernel pick_long_taps_kernel(Dtype taps, bool is_complex, bool wide);

}  // namespace tapline::cuda::overlap_save

namespace tapline::cuda {

const Rung& overlap_save_long();

}  // namespace tapline::cuda
