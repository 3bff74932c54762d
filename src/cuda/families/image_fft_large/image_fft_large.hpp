// Transforms of an image's tiles that are larger than shared memory: what the kernels and their launch share.
#pragma once

#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/primitives/image/image_arguments.hpp"

namespace tapline::cuda::image_fft_large_rung {

inline constexpr int kThreads = 256;
inline constexpr int kTaskPoints = 32 * kThreads;    // that a block transforms at a time
inline constexpr int kWarpPoints = kTaskPoints / 8;  // of whole lines
inline constexpr int kHeadBytes = 128;               // of shared memory: the task

/// A transform of kFar * kNear points n = kNear j + s, in two steps, whose frequencies are q + kFar t: j and q < kFar, s and t <
/// kNear.
template <int kFarOnes, int kNearOnes>
struct Split {
    static constexpr int kFar = kFarOnes;
    static constexpr int kNear = kNearOnes;
    static constexpr int kPoints = kFar * kNear;
};

/// The same in three: n = kMid kNear j + kNear i + s, whose frequencies are q + kFar u + kFar kMid t.
template <int kFarOnes, int kMidOnes, int kNearOnes>
struct LongSplit {
    static constexpr int kFar = kFarOnes;
    static constexpr int kMid = kMidOnes;
    static constexpr int kNear = kNearOnes;
    static constexpr int kPoints = kFar * kMid * kNear;
};
template <class S>
inline constexpr bool kIsLong = requires {
    S::kMid;
};

/// Tiles of kRows rows of 2 kPoints pixels: pixel x of a row is the real part of point x, pixel x + kPoints its imaginary part.
template <class ColumnSplit, class RowSplit>
struct Shape {
    using Down = ColumnSplit;
    using Along = RowSplit;
    static constexpr int kRows = Down::kPoints;
    static constexpr int kPoints = Along::kPoints;
    static constexpr int kColumns = 2 * kPoints;
    static constexpr int kLines = kTaskPoints / kPoints;  // rows of a task
    static constexpr int kLinesOfWarp = kWarpPoints / kPoints;
    static constexpr int kWidth = kTaskPoints / kRows;  // points side by side of a task of columns
    // Where the tables begin, in float2: pairs (c, t) of the steps back and forth, by q and s of rows, of columns, of long columns'
    // middle step; the points' twiddles; the masks' spectra.
    static constexpr int kPairsQ = 0;
    static constexpr int kPairsS = kPairsQ + kPoints / 2;
    static constexpr int kPairsDownQ = kPairsS + kPoints / 2;
    static constexpr int kPairsDownS = kPairsDownQ + kRows / 2;
    static constexpr int kPairsMidQ = kPairsDownS + kRows / 2;
    static constexpr int kPairsMidS = kPairsMidQ + (kIsLong<Down> ? kRows / Down::kNear / 2 : 0);
    static constexpr int kTwiddles = kPairsMidS + (kIsLong<Down> ? kRows / Down::kFar / 2 : 0);
    static constexpr int kSpectra = kTwiddles + kPoints;
    static constexpr int kSharedBytes = kHeadBytes + 8 * kTaskPoints + 4 * kColumns;  // the task, points, where columns come from
};

/// Whether floats have a kernel apart from that of any pixels. Of smaller tiles one for all is as fast; 4096 x 4096 floats under
/// 300 x 300 taps take 360 us by one and 345 by their own, 4096 x 8192 under 1,001 x 1,001 1,335 and 1,223 (H100).
template <class D>
inline constexpr bool kFloatsApart = D::kRows > 512;

/// What a block does next. A unit: the tiles of some channels at one place.
struct Task {
    int kind, unit, part, slot;
};
enum Kind : int { kThere, kDown, kBack, kNothing, kEnd };

struct Passes {
    float2* points;        // (slots, channels of a unit, rows, points of a row)
    const float2* tables;  // as Shape
    unsigned* counts;      // the next task; tasks done of each kind of each unit. Zero before a launch
    unsigned*
        bad;  // whether any sample is not finite; for each row of each channel of each image in which of its 32 parts. As well
    int units, slots;
    int lag;  // units between one that is read and one whose columns are transformed, and from that to one that is written
    int tasks[3];
    int group_bits, groups;     // 2^group_bits channels a unit, so many units beside each other
    int in_bits, out_bits;      // 2^bits lines at most lie closer than pixels, channels or rows: lanes go across them
    int out_rows, out_columns;  // of a tile
    std::int64_t spectrum;      // from one channel's to the next, or 0
    image_fft_rung::Steps steps;
    Dtype input_type;
    int input_bytes, output_bytes;
};

using Kernel = void (*)(ImageArguments a, Passes g);

/// A mask's spectrum: of `taps` (height, width) in correlation order, for tiles of `rows` rows of `points` points.
struct MakeSpectrum {
    const float* taps;
    int height, width, rows, points;
    double2* rows_of_mask;  // (height, points), for the time being
    float2* spectrum;       // (rows, points)
};

void load_kernels_around();
void make_spectrum(const MakeSpectrum& m, cudaStream_t stream);
/// Outputs whose windows hold samples that are not finite, if the passes found any.
void repair(const ImageArguments& a, const Passes& g, int most_blocks, cudaStream_t stream);

}  // namespace tapline::cuda::image_fft_large_rung

namespace tapline::cuda {

const Rung& image_fft_large();

}  // namespace tapline::cuda
