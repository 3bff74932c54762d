// What the kernel of rounded passes and its launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/passes_abi.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::rounded_passes {

inline constexpr int kWarps = 8;
inline constexpr int kThreads = 32 * kWarps;
inline constexpr int kMostTaps = 128;
inline constexpr int kGroup = 8;         // outputs of a line that a product makes
inline constexpr int kStepTaps = 32;     // places of the window that it takes
inline constexpr int kLines = 16;        // lines that it takes
inline constexpr int kTileUnit = 32;     // tiles have a multiple of it of rows and columns
inline constexpr int kMostParts = 4;     // bytes of a weight
inline constexpr double kNudge = 1e-14;  // by which a sum may be below an integer that counts as that

/// One pass: weights are whole numbers of 2^-fraction.
struct PassArguments {
    std::int32_t taps, origin, steps;
    Boundary boundary;
    std::int32_t fraction;  // bits of a sum behind its point
    std::uint32_t offset;   // added to sums: what the samples' flipped sign and rounded weights took
    std::uint32_t doubtful; // sums whose fraction is less may have the wrong integer
    std::uint32_t inverse;  // of whole weights: 2^32 over the divisor, rounded up; 0: no divisor
    double total;           // of the weights
};

struct PassesArguments {
    void* out;
    const void* in;
    std::int64_t in_image, in_row, out_image, out_row;
    std::int32_t rows, columns;
    std::int32_t tiles_down, tiles_across;      // of an image
    std::int32_t tile_rows, tile_columns;
    std::int32_t lead;                          // columns of a tile's samples before its first window
    std::int32_t in_pitch, in_rows, out_pitch;  // of a tile: columns and rows of samples; bytes from row to row between the passes
    std::int32_t table_words;                   // of one byte of a pass' weights
    std::uint32_t flip;                         // of 16 bits: 0x8000 where they have a sign
    std::uint32_t constant;                     // with its sign flipped
    std::int64_t in_elements;                   // from the first sample on, of all images
    PassArguments pass[2];                      // down, along; taps 0: none
    std::uint32_t parts[2][kMostTaps];          // the bytes of a weight, lowest first
    double weights[2][kMostTaps];
};
static_assert(sizeof(PassesArguments) <= 4096 - 64);

/// To a multiple of the unit.
constexpr int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }

using Kernel = void (*)(PassesArguments);
Kernel kernel_of(int bytes_per_sample, bool whole);

/// What an execution launches.
struct Prepared {
    PassesArguments arguments{};
    Kernel kernel = nullptr;
    unsigned blocks = 0;
    std::size_t shared_bytes = 0;
    double seconds = 0;  ///< predicted
};

/// Throws CudaError (unsupported) for what the kernel does not take.
Prepared prepare_passes(const cuda_abi::RoundedPasses& passes, const cuda_abi::Device& device);
void launch_passes(const Prepared& prepared, void* out, const void* in, cudaStream_t stream);

}  // namespace tapline::cuda::rounded_passes
