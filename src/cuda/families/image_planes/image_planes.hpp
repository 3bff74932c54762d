// Images of interleaved channels by way of planes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/forward.hpp"

namespace tapline::cuda {

const Rung& image_planes();

namespace image_planes_rung {

inline constexpr int kThreads = 256;
inline constexpr int kChannels = 32;  // of a tile, at most
/// Elements of so many bytes that move as one word.
__host__ __device__ constexpr int elements_of_word(int bytes) { return bytes < 4 ? 4 / bytes : 1; }
/// Of a row, of a tile with kChannels; of one with fewer more.
__host__ __device__ constexpr int pixels(int bytes) { return 128 * elements_of_word(bytes); }
/// Of shared memory, with some words more for each channel.
__host__ __device__ constexpr int tile_elements(int bytes) { return kChannels * (pixels(bytes) + 4 * elements_of_word(bytes)); }

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
