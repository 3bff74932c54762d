// Sizes of the separable kernel on tensor cores whose factors are halves.
#pragma once

#include "cuda/families/separable/separable.hpp"

namespace tapline::cuda::image_halves_rung {

using image_separable_rung::kFar;

// The marching kernel on tensor cores (rank one, one or three channels): a warp makes 16 pixels of a channel, 16 rows a step, both
// passes as products of halves. They take 16 taps at a time: 16 outputs lie in 16 kSteps columns of a row, or rows of a column.
inline constexpr int kStepRows = 16;
constexpr int steps_of(int taps) { return taps <= 17 ? 2 : (taps + 14) / 16 + 1; }
constexpr int most_taps_of(int steps) { return 16 * steps - 15; }
/// Rows that take as long as a segment's beginning.
constexpr int halo_rows_of(int steps) { return kStepRows * steps; }
inline constexpr int kFewSteps = 3;    // whose taps stay in registers
inline constexpr int kMostNarrow = 6;  // whose blocks are narrow
inline constexpr int kMostSteps = 8;   // of one channel: the rows between the passes stay in registers
inline constexpr int kMostTaps = most_taps_of(kMostSteps);
inline constexpr int kTapLead = 32;       // zeros before the taps
inline constexpr int kTapExponent = 14;   // of the largest tap: below a half's 2^16
inline constexpr int kSharedBytes = 128;  // before the rows
// Scales of pixels: sixteen octaves apart, so that they seldom change. Where the largest is below 2^(16 b - 119) and at least
// 2^(16 b - 135), the scale's exponent, biased, is kScaleExponent - 16 b: it comes to kLeastScaled .. kMostScaled.
inline constexpr unsigned kScaleExponent = 261;
inline constexpr unsigned kUsualExponent = kScaleExponent - 16 * 8;  // for 2^-7 .. 2^9
inline constexpr float kLeastScaled = 0.5F;
inline constexpr float kMostScaled = 32768;

/// kOwnSteps: down columns; kOwnRowSteps: along rows, 1 where the mask is a column. kProducts: 3, or 2 where all taps are single
/// halves.
template <int kOwnSteps, int kChannels, int kOwnProducts = 3, int kOwnRowSteps = kOwnSteps>
struct HalvesShape {
    static constexpr int kSteps = kOwnSteps;
    static constexpr int kRowSteps = kOwnRowSteps;
    static constexpr int kProducts = kOwnProducts;
    static constexpr bool kFew = kSteps <= kFewSteps;
    // Of a block's row: where three blocks of 64 do not fit in shared memory, two of 96.
    static constexpr int kPixels = kSteps <= kMostNarrow || kRowSteps == 1 ? 64 : 96;
    static constexpr int kStages = kFew ? 4 : 3;  // steps' rows that are held or on their way
    static constexpr int kHalfBuffers =
        kFew ? 4 : 3;  // steps' rows as halves: written a step ahead, read by warps up to one behind
    static constexpr int kPaddedTaps = kTapLead + 16 * kSteps + 8;  // with those and zeros after them
    static constexpr int kThreads = kPixels / 16 * 32 * kChannels;
    static constexpr int kBlocks = kChannels == 1 ? 192 / kPixels : 1;  // of a multiprocessor: 168 registers a thread
    static constexpr int kWindow = kPixels + 16 * (kRowSteps - 1);      // pixels of a row
    static constexpr int kElements = kWindow * kChannels;
    static constexpr int kStage = kStepRows * kElements;
    static constexpr int kLanes = kThreads / kStepRows;    // threads of a row
    static constexpr int kPitch = kWindow + 8;             // halves: an odd multiple of 16 bytes
    static constexpr int kPart = kStepRows * kPitch;       // a channel's high halves, or low ones
    static constexpr int kHalves = 2 * kPart * kChannels;  // of a step
    static constexpr int kOutRow = kPixels * kChannels;
    static constexpr int kOutPitch = kOutRow + 4;
    static constexpr int kOut = kChannels == 1 ? 0 : kStepRows * kOutPitch;
    static constexpr int kFragments = (kRowSteps + kSteps) * 256;  // words of the taps as fragments
    /// Bytes of shared memory: what the block shares, rows of floats, of halves, of outputs, the taps twice, where the border comes
    /// from.
    static constexpr int kBytes =
        kSharedBytes + (kStages * kStage + kHalfBuffers * kHalves / 2 + 2 * kOut + kFragments + 2 * kPaddedTaps + kElements) * 4;
};

/// How a block marches on tensor cores. The taps' largest are 2^kTapExponent.
struct HalvesMarch {
    int segment_rows;                // output rows of a block
    int lead;                        // pixels that a window begins before the first tap's, to begin on 16 bytes
    int lead_rows;                   // and rows, so that the last step's hold the last tap's
    int vectors;                     // whether rows of the image begin on 16 bytes with `lead`
    int out_vectors;                 // whether rows of the output do
    int exponent;                    // sums times 2^exponent and less the scale's, biased, are outputs
    float middle;                    // sums of rows times that, a power of two, are below 2^14
    std::int64_t in_step, out_step;  // bytes of a step's rows
    float column[kMostTaps], row[kMostTaps];
};

}  // namespace tapline::cuda::image_halves_rung
