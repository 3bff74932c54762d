// Overlap-save: sizes that the kernels and their launches share.
#pragma once

#include <cfloat>
#include <cstdint>

#include "cuda/primitives/arguments.hpp"
#include "cuda/primitives/lines/lines.hpp"
#include "cuda/primitives/segment_sizes.hpp"

namespace tapline::cuda::overlap_save {

template <class T>
struct Limits {
    static constexpr T kMost = FLT_MAX;
};
template <>
struct Limits<double> {
    static constexpr double kMost = DBL_MAX;
};

inline constexpr int kLargestTaps = 8;
/// When an output keeps the bound of strict accuracy (docs/numerics.md). Factors of the L2 norm of a segment's samples.
struct FilterBound {
    double least_output;                       // the smallest magnitude of an output that is known to keep it
    double least_sum;                          // the smallest sum of magnitudes of an output's terms at which it does
    int positions[kLargestTaps];               // of the taps with the largest magnitudes
    float re[kLargestTaps], im[kLargestTaps];  // those
};

/// What segments of widened samples are checked with, and where they tell what they could not do.
struct Checks {
    const FilterBound* bounds;  // of each filter
    std::int64_t filters;
    std::int64_t first_filter;  // row r of the launch has filter (first_filter + r) % filters
    std::int64_t first_group;   // of row 0
    std::int64_t groups;        // of a row: kGroup neighbouring outputs
    int real_taps;              // of complex samples
    unsigned* failed_groups;    // how many
    unsigned* failed;           // which
};
inline constexpr int kGroup = 32;

/// From one line to the next along Rows::near and along the others: so many rows, as filters number them.
struct RowSteps {
    std::int64_t near;
    std::int64_t others[Rows::kMostOthers];
};

/// How rows are divided into segments and segments among warps.
struct Segments {
    const void* tables;           // pairs, twiddles, spectra of the filters
    std::int64_t spectrum_row;    // points from one filter's spectrum to the next
    std::int64_t spectrum_first;  // points before the first row's spectrum, or in runs before filter 0's
    std::int64_t start;           // from sample in_first to the first one of segment 0
    int segments;                 // of a row
    int outputs;                  // of a segment
    int skip, used;               // a segment's outputs read its samples [skip, used)
    int inner_first, inner_last;  // the segments of every row whose samples all lie in the piece
    int zero_edges;               // what the others read of the piece is copied as a whole too, zeros around it
    void* sums_in;                // added to the sums: (rows, sums_row); null: none
    void* sums_out;               // where they go instead of to the output, or null
    std::int64_t sums_row;
    int real_taps;      // of complex samples
    int step_segments;  // from one of a warp's segments to its next: so many rows and segments; in runs 0 and 1
    std::int64_t step_rows;
    int longer;            // so many of the warps that begin at once have a segment more than the others: they read first
    std::int64_t filters;  // in runs: row r has filter (first_filter + r) % filters; 0: rows have spectra and taps of their own
    std::int64_t first_filter;  // of row 0
    int run;                    // segments that a warp does one after the other
    void* kept;                 // by halves of rows: products of the first that wait for the second
    Rows rows;                  // of tiles: `lines` segments begin and end together
    std::int64_t filter_bytes;  // of taps, from one filter to the next
    unsigned* taken;            // of one warp and one filter: segments taken beyond the first ones; null: warps go on in steps
    int spectrum_in_block;      // of tiles: one filter's lies beside the tables
    int staged;                 // of tiles: samples come so many bytes at a time by way of shared memory, 16, 8 or 4; or 0
    int out_by_lines;           // of tiles: outputs of a line lie closer than lines do, so that each warp writes those of one
    int near_first;             // tiles are numbered along Rows::near before they are along the filtered axis
    int after[2 + Rows::kMostOthers];  // from a team's tile to its next one, as digits of their order
    RowSteps row_steps;                // of tiles: row r of `rows` has filter (Rows::first_filter + r) % Rows::filters, and sums
    Checks checks;                     // of widened samples
};

using SegmentKernel = void (*)(Arguments a, Segments segments);

/// Of tiles: whether elements of a type go straight between memory and registers. With sums in f32 those of 4 and 8 bytes of other
/// types are rare: they pass through shared memory in a loop, as code for them at each of a thread's points would take a third of
/// the kernel's compilation. With sums in double, which integers of that size have, that loop costs a third of the time.
TAPLINE_HOST_DEVICE constexpr bool goes_straight(Dtype type, int bytes, Dtype sums) {
    return sums != kF32 || type == sums || bytes <= 2;
}

/// Where a segment's spectrum lies when points are multiplied by it.
enum class Spectrum {
    passing,  // where they were exchanged, copied there for every segment
    block,    // one filter: a place of shared memory for all segments of the block
    row,      // several filters: short segments have places of their own, where it stays until a row has another filter
};

/// What a kernel is compiled for, by the type of its sums and the warps of a segment.
template <class T, int kWarps, Spectrum kSpectrum = Spectrum::passing>
struct Shape {
    static constexpr bool kWide = sizeof(T) == 8;
    /// A place for a spectrum beside the points. (64, 768, 4096) bf16, 4 warps: 1186 us with 3 segments that have one, 1144 with 4
    /// that have none.
    static constexpr bool kOwnSpectrum = kSpectrum == Spectrum::row && !kWide && kWarps <= 2;
    /// Of a block at most: 32 points a lane are 64 registers, in double 128. With spectra of their own 13 warps would have room,
    /// but 128 registers instead of 168: (8, 2048, 8192) samples with 256 taps 392 us instead of 343.
    static constexpr int kThreads = kWide ? 256 : kOwnSpectrum ? 384 : 512;
    /// The twiddles as a table of all points, or as products of two small ones.
    static constexpr bool kTwiddleTable = kWide ? kWarps <= 2 : kWarps <= 4;
    /// The warps' pairs. Those of 16 warps, 64 KB, are read from global memory, that is the first-level cache: 8,191 taps 1,101 us
    /// instead of 1,118, and devices with 163 KB have room for the segment.
    static constexpr bool kPairsInShared = kWarps <= 4;
    /// Products and the first step at once: with 2 and 16 warps 1,023 taps 706 us and 8,191 taps 1,126 instead of 743 and 1,148;
    /// with 1 and 4 warps it is slower, for the registers that its loads take: rows with 256 taps 346 us instead of 328, 2,047 taps
    /// 858 instead of 842.
    static constexpr bool kFusedProducts = kWarps != 1 && kWarps != 4;
    /// In so many stages outputs are completed, so that some are stored while others are computed: all warps come there at a time,
    /// and stores alone take 2 us. 2^28 samples, 8,191 taps 1,078 us instead of 1,083, complex64 and 2,047 taps 974 instead of
    /// 1,014; in double 2,051 taps 919 instead of 932, but 4,097 taps 1,084 instead of 1,016, for the registers.
    static constexpr int kStages = kWarps <= 2 || (kWide && kWarps == 8) ? 1 : 2;
    /// The next segment is brought into the L2 cache while this one is convolved.
    static constexpr bool kPrefetches = kWarps >= 4;
};

/// Of one segment: 16 warps in double would have 128 registers a thread, which its 32 points alone take.
template <class T>
inline constexpr int kMostWarps = sizeof(T) == 8 ? 8 : 16;

/// Segments of so many warps have one kernel for rows under one filter and, in runs, rows with filters of their own: where a
/// spectrum has no place to stay both would be the same but for the order of segments.
template <int kWarps>
inline constexpr bool kInAnyOrder = kWarps >= 8;

/// Segments of so many warps can take part of a filter, adding to sums.
inline constexpr int kLeastWarpsOfParts = 8;

/// Offsets into a block's shared memory, in bytes: tables, then the segments, each its points and, if it has one, its spectrum.
struct SharedLayout {
    int pairs, twiddles, spectrum, segments, segment_bytes;
};

inline constexpr int kMostSegments = 16;  // of a block, as many as it has warps at most

/// Where a block's shared memory has the energies of its warps' samples, (re, im) in double, of 8 warps at most: behind the
/// barriers.
inline constexpr int kEnergyOffset = 8 * 3 * kMostSegments;

/// Of a cluster: segments are divided into so many remainders first, each thread having one point of each.
inline constexpr int kRemainders = 32;

template <class Shape, int kWarps, int kPointBytes, Spectrum kSpectrum>
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr SharedLayout
    shared_layout() {
    SharedLayout l{};
    l.pairs = 8 * 4 * kMostSegments;  // the barriers come first: of segments, of spectra, of the tables
    l.twiddles = l.pairs + (Shape::kPairsInShared ? kPairs * kWarps * kPointBytes : 0);
    l.spectrum = l.twiddles + kPoints * (Shape::kTwiddleTable ? kWarps : 1) * kPointBytes;
    l.segments = l.spectrum + (kSpectrum == Spectrum::block ? kPoints * kWarps * kPointBytes : 0);
    constexpr int kExchanged = kPointBytes == 8 ? kExchangePoints<float2> : kExchangePoints<double2>;
    l.segment_bytes = kWarps * (kExchanged + (Shape::kOwnSpectrum ? kPoints : 0)) * kPointBytes;
    return l;
}

}  // namespace tapline::cuda::overlap_save

namespace tapline::cuda {

const Rung& overlap_save_rung();
const Rung& overlap_save_parts();

}  // namespace tapline::cuda
