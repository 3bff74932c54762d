// Sizes of the FFT kernel for images.
#pragma once

#include "cuda/primitives/image/image_arguments.hpp"

namespace tapline::cuda::image_fft_rung {

inline constexpr int kRows = 128;     // pixels of a tile down a column, y = 4 j + r
inline constexpr int kLong = 32;      // values of j, of f
inline constexpr int kShort = 4;      // values of r, of p
inline constexpr int kFar = 8;        // points of a row, x = kNear j + s: values of j, of q
inline constexpr int kMostMask = 97;  // then a quarter of a column is outputs

/// Tiles of 128 rows of 16 kNear pixels: 8 kNear points.
template <int kNear>
struct Shape {
    static constexpr int kPoints = kFar * kNear;  // of a row: pixel x and, as imaginary part, pixel x + kPoints
    static constexpr int kColumns = 2 * kPoints;
    static constexpr int kTasks = kShort * kPoints;  // of 32 points each
    // Where the tables begin, in points: pairs (c, t) by f, q, s and r, the points' twiddles, the masks' spectra.
    static constexpr int kPairsF = 0;
    static constexpr int kPairsQ = kPairsF + kLong * kShort / 2;
    static constexpr int kPairsS = kPairsQ + kFar * kNear / 2;
    static constexpr int kPairsR = kPairsS + kNear * kFar / 2;
    static constexpr int kTwiddles = kPairsR + kShort * kLong / 2;
    static constexpr int kSpectra = kTwiddles + kPoints;
    // Tile, pairs by r, where rows or columns come from.
    static constexpr int shared_bytes(int of_point) {
        return of_point * (kRows * kPoints + kShort * kLong / 2) + 8 * (kColumns > kRows ? kColumns : kRows);
    }
};

/// Steps in memory, in elements; of pixels that lie side by side kernels for one number of channels know them.
struct Steps {
    std::int64_t in_pixel, in_channel, out_pixel, out_channel;
};

struct Tiles {
    int out_rows, out_columns;  // of a tile
    // Of elements where pixels or outputs are no floats; output_bytes: 16 of any complex number.
    Dtype input_type;
    int input_bytes, output_bytes;
    double undecided;         // what integers' sums in double may be off by on their way to integers; 0: others
    std::int32_t by_columns;  // memory has the pixels of columns side by side, not those of rows
    Steps steps;
};

/// Transforms in double, of pixels of 8, 16 or 64 bits; for tiles of Shape<8>.
void (*kernel_of_doubles())(ImageArguments, Tiles);

}  // namespace tapline::cuda::image_fft_rung

namespace tapline::cuda {

const Rung& image_fft();

}  // namespace tapline::cuda
