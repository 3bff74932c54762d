// Images of interleaved channels by way of planes.
#pragma once

#include <cstdint>

#include "cuda/rung.hpp"

namespace tapline::cuda {

const Rung& image_planes();

namespace image_planes_rung {

inline constexpr int kThreads = 256;
inline constexpr int kChannels = 32;                             // of a tile, at most
inline constexpr int kPixels = 128;                              // of a row, of a tile with so many; else more
inline constexpr int kTileElements = kChannels * (kPixels + 4);  // of shared memory, with some words more for each channel

/// Images of interleaved channels and their planes, one after the other: (images, channels, height, width). Steps are in elements.
struct Passage {
    const void* from;
    void* to;
    std::int64_t width, height, images, channels;
    std::int64_t row, image;                  // of interleaved channels
    std::int64_t pixel_tiles, channel_tiles;  // of a row
    int tile_pixels, tile_channels;
    int pitch;  // from a tile's channel to the next one in shared memory
};

using Kernel = void (*)(Passage);
/// Kernels of elements of so many bytes, and the tiles of a launch.
Kernel to_planes(int bytes);
Kernel from_planes(int bytes);

}  // namespace image_planes_rung

}  // namespace tapline::cuda
