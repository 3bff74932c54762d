// Rung 10: which images are bands, and how they are divided. Host.
#pragma once

#include <limits>

#include "cuda/families/image_tiles/image_tiles.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda::image_tiles_rung {

/// How a problem's images are bands; blocks of `cost` multiply-adds in all, infinite where they are none.
struct BandShape {
    Cut cut{};
    Band band{};
    double cost = std::numeric_limits<double>::infinity();
    std::size_t shared_bytes = 0;
};
BandShape band_shape_of(const Problem& p, const cuda_abi::Device& device);

/// Whether a launch may go by it: the arguments of a job.
bool is_in_bands(const TileArguments& a, const BandShape& shape);

}  // namespace tapline::cuda::image_tiles_rung
