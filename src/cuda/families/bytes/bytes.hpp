// Rung 36: what its kernels and its launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::bytes_rung {

inline constexpr int kWarps = 4;
inline constexpr int kThreads = 32 * kWarps;
inline constexpr int kLines = 16 * kWarps;  // of a block: a warp has 16
inline constexpr int kOutputs = 128;        // of a line
inline constexpr int kGroup = 8;            // outputs of a line that a product makes
inline constexpr int kStepTaps = 32;        // places of the window that it takes
inline constexpr int kMostSteps = 3;
inline constexpr int kParts = 3;         // bytes of a tap
inline constexpr int kFraction = 24;     // bits of a sum behind its point, where sums have eight before it
inline constexpr int kMostAhead = 12;    // bytes that a line's vectors begin before its window
inline constexpr int kOutPitch = 144;    // bytes of shared memory from line to line of outputs
inline constexpr int kAcrossPitch = 80;  // and from place to place, where lines lie side by side

/// Steps of a filter: its window is that of eight outputs.
constexpr int steps_of(std::int64_t taps) { return static_cast<int>((taps + kGroup - 1 + kStepTaps - 1) / kStepTaps); }

/// Words of a line of samples: what the outputs need.
__host__ __device__ constexpr int window_words(int steps) { return (kOutputs - kGroup + kStepTaps * steps) / 4; }
/// And from line to line in shared memory. Along lines whole vectors, and eight lines' four words lie in 32 banks; across them an
/// odd number, so that words of eight fours of lines do when they are stored.
__host__ __device__ constexpr int pitch_words(int steps, bool across) {
    if (across) { return window_words(steps) | 1; }
    return (window_words(steps) + kMostAhead / 4 + 3) / 4 * 4;
}
__host__ __device__ constexpr int samples_bytes(int steps, bool across) { return 4 * kLines * pitch_words(steps, across); }
constexpr std::size_t shared_bytes(int steps, bool across) {
    return static_cast<std::size_t>(samples_bytes(steps, across) + (across ? kOutputs * kAcrossPitch : kLines * kOutPitch));
}

/// How samples come: side by side along lines as vectors of 16 bytes, across them as words, where memory has them; as words that
/// begin anywhere; one by one. Outputs likewise, both as vectors.
enum class Loads : std::int32_t { bytes, aligned, anywhere };
using Stores = Loads;

struct BytesArguments {
    std::uint8_t* out;       // output `first` of line 0
    const std::uint8_t* in;  // sample in_first of line 0
    std::int64_t n, first, outputs, in_first, in_last, lines;
    std::int64_t in_line, out_line, in_step, out_step;
    std::int64_t begin;  // before output 0: the sample that a window begins with, which may be a few before the first tap's
    std::int64_t tiles;  // of a line
    Boundary boundary;
    std::uint8_t constant;
    Loads loads;
    Stores stores;
    int ahead;                 // bytes by which vectors begin before a line's window
    int taps, lead;            // the filter, and places of the window before it
    unsigned bias;             // added to sums: the epilogue's, a half, and what sums may be too small by
    unsigned doubtful;         // sums whose fraction is less may have the wrong integer
    int fraction;              // bits of sums behind the point
    std::int32_t saturates;    // sums are signed and may leave 0 .. 255; else fraction is kFraction
    std::int32_t trust_zeros;  // but a sum of nothing but zeros has not
    std::int32_t whole_taps;   // taps are integers: sums times `inverse` are, when rounded, those of the taps
    const uint2* fragments;    // (steps, parts, lanes): the taps' bytes
    const double* exact_taps;
    const std::uint8_t* flat;  // the output where all samples are the same
    double scale, offset;
};

using Kernel = void (*)(BytesArguments);
Kernel kernel_of(int steps, bool across);

}  // namespace tapline::cuda::bytes_rung

namespace tapline::cuda {

const Rung& direct_bytes();

}  // namespace tapline::cuda
