// What the kernel of rounded passes and its launches share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "cuda/passes_abi.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::rounded_passes {

inline constexpr int kWarps = 8;
inline constexpr int kThreads = 32 * kWarps;
inline constexpr int kMostTaps = 128;
inline constexpr int kGroup = 8;         // outputs of a line that a product makes
inline constexpr int kStepTaps = 32;     // places of the window that it takes
inline constexpr int kLines = 16;        // lines that it takes
inline constexpr int kRun = 8;           // outputs of a line that a thread makes of sums in double
inline constexpr int kTileUnit = 32;     // tiles have a multiple of it of rows and columns
inline constexpr int kAllParts = 8;      // bytes of a weight
inline constexpr double kNudge = 1e-14;  // of a sum, by which it may be below an integer that counts as that

inline constexpr std::uint64_t kSlack = 4;  // added to sums of all bytes, which lost less with their lowest bits

/// The bytes of a weight, the highest ones, that decide most outputs.
__host__ __device__ constexpr int parts_of(int bytes_per_sample, bool whole) { return whole ? 1 : bytes_per_sample + 2; }

/// One pass.
struct PassArguments {
    std::int32_t taps, origin, steps;
    Boundary boundary;
    std::int32_t fraction;   // bits of a sum behind its point
    std::uint32_t offset;    // added to sums: what the samples' flipped sign and rounded weights took
    std::uint32_t doubtful;  // sums whose fraction, of 32 bits, is less may have the wrong integer
    std::uint32_t inverse;   // of whole weights: 2^32 over the divisor, rounded up; 0: no divisor
    std::uint32_t nudge;     // for each one of a sum of all bytes, which has 32 bits more behind its point
    std::uint64_t exact_offset;
    std::int32_t keeps_flat;      // the weights add up to 1: samples that are all the same stay what they are
    std::int32_t keeps_lines;     // and are those of a mirror image: samples that rise alike do, too
    std::int32_t origin_of_even;  // the place of the middle weight
};

struct PassesArguments {
    void* out;
    const void* in;
    std::int64_t in_image, in_row, out_image, out_row;
    std::int32_t rows, columns;
    std::int32_t tiles_down, tiles_across;  // of an image
    std::int32_t tile_rows, tile_columns;
    std::int32_t lead;                          // columns of a tile's samples before its first window
    std::int32_t in_pitch, in_rows, out_pitch;  // of a tile: columns and rows of samples; bytes from row to row between the passes
    std::int32_t table_words;                   // of one byte of a pass' weights
    std::uint32_t flip;                         // of 16 bits: 0x8000 where they have a sign
    std::uint32_t constant;                     // with its sign flipped
    std::int64_t in_elements;                   // from the first sample on, of all images
    PassArguments pass[2];                      // down, along; taps 0: not both none
    // Of each pass, of each byte of a weight from the lowest on: words of four places' bytes that begin at each place, from seven
    // before the first one on.
    const std::uint32_t* tables;
};

/// Passes whose sums are formed in double: `tables` and what concerns bytes of weights are not needed, in_pitch is that of all
/// rows.
struct DoublesArguments {
    PassesArguments passes;
    double zero;      // of a sample whose sign was flipped, beside 2^52
    double scale[2];  // of a pass' sums, before they are cut off
    double weights[2][kMostTaps];
};

/// To a multiple of the unit.
constexpr int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }

using Kernel = void (*)(PassesArguments);
Kernel kernel_of(int bytes_per_sample, bool whole);
using DoublesKernel = void (*)(DoublesArguments);
DoublesKernel doubles_kernel_of(int bytes_per_sample);

/// What an execution launches.
struct Prepared {
    DoublesArguments arguments{};  ///< but for out, in and tables
    std::vector<std::uint32_t> tables;
    Kernel kernel = nullptr;
    DoublesKernel in_double = nullptr;  ///< instead of it, without tables
    unsigned blocks = 0;
    std::size_t shared_bytes = 0;
    double seconds = 0;  ///< predicted
};

/// Throws CudaError (unsupported) for what the kernel does not take.
Prepared prepare_passes(const cuda_abi::RoundedPasses& passes, const cuda_abi::Device& device);
void load_passes(const Prepared& prepared, const cuda_abi::Device& device);
/// `tables`: a copy of Prepared::tables on the device.
void launch_passes(const Prepared& prepared, const void* tables, void* out, const void* in, cudaStream_t stream);

}  // namespace tapline::cuda::rounded_passes
