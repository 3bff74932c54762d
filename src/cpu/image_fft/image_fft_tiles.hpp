// Tiles of images that are convolved by one transform each, and which sizes of them.
//
// A tile's rows, `pitch` samples each, stand one after the other in a one-dimensional transform. The mask's rows, padded with zeros
// to the same pitch, are then one long filter, and the transform's circular convolution is the tile's two-dimensional one in all
// samples whose windows end within their own row: mask_width - 1 of each row's end and mask_height - 1 of the last rows are lost,
// as in two dimensions, and the library's own transform does it, in one row of the L2 cache.
#pragma once

#include <vector>

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// Counted in samples: real or complex elements.
struct ImageFftShape {
    int log2_size = 0;                           ///< 0: no transform is large enough
    std::int64_t step = 1;                       ///< from a pixel to its neighbour
    std::int64_t halo = 0;                       ///< samples of a tile's row beyond its outputs
    std::int64_t pitch = 0;                      ///< of the tile's rows
    std::int64_t out_rows = 0, out_samples = 0;  ///< of a tile
    std::int64_t down = 0, across = 0;           ///< tiles of a plane
    std::int64_t planes = 1;
    bool pairs = true;  ///< two real tiles travel as the real and imaginary part of one transform
    /// Pairs are tiles one below the other (a last row's still side by side): where a row has an odd number of tiles, so that who
    /// is paired with whom is decided within two rows and two columns of tiles, wherever a part of the image begins.
    bool pairs_down = false;
    bool plane = false;  ///< a tile is a plane, of which parts of an image know nothing
    /// It is real, and its halves are the parts of one transform of half its size (fft/right_angle.hpp).
    bool halves = false;
    /// Of a tile that is a plane, zeros behind the image that need not be there, as its end meets those before the image.
    std::int64_t wrapped_rows = 0, wrapped_samples = 0;
    double seconds = 0;  ///< predicted, one thread

    [[nodiscard]] std::int64_t tiles() const { return down * across; }
    /// Transforms of a plane.
    [[nodiscard]] std::int64_t units() const { return pairs ? (tiles() + 1) / 2 : tiles(); }
    /// Tiles of transform `unit`, counted row by row; the second of a pair may be tiles(): missing.
    struct Pair {
        std::int64_t first, second;
    };
    [[nodiscard]] Pair pair(std::int64_t unit) const;
    /// core::Executable's, in pixels: tiles may begin within one.
    [[nodiscard]] std::int64_t inner_granularity() const;
    [[nodiscard]] std::string describe() const;
};

/// Smaller masks have tiles, whose bits are those of parts of an image.
inline constexpr std::int64_t kLeastTapsOfPlanes = 4096;

/// Which of the shapes may be taken.
struct ImageFftKinds {
    bool checked = false;  ///< of strict accuracy, and no others
    bool planes = true;    ///< tiles that are whole planes, whose bits no part of an image has
};

/// The cheapest; bits do not depend on the number of threads.
ImageFftShape image_fft_shape(const core::Resolved& problem, const ImageFftKinds& kinds);

/// Without the taps that meet no sample at any output of `whole`, of which `problem` is all or a part: those of a mask that reaches
/// far beyond an image under zero boundaries. `taps` become those that are left.
template <class T>
core::Resolved without_idle_taps(const core::Resolved& problem, const core::Resolved& whole, std::vector<T>& taps);
core::Resolved without_idle_taps(const core::Resolved& problem, const core::Resolved& whole);

/// Whether all threads work on one transform at a time, as in one dimension (overlap_save_shape.cpp).
bool shares_transforms(const ImageFftShape& shape, int threads);

/// The tiles of a part of the image that `whole` is the shape of, whose outputs begin at one of every other row and column of them.
ImageFftShape image_fft_part_shape(const ImageFftShape& whole, const core::Resolved& part);

}  // namespace tapline::cpu
