// Rung 10: what its kernel and its launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda::image_tiles_rung {

inline constexpr int kThreads = 256;
inline constexpr int kAcross = 4;          // outputs of a thread along a row: a vector of sums
inline constexpr int kDown = 4;            // and down a column
inline constexpr int kChunk = 4;           // taps of a mask's row that are added up together
inline constexpr int kMostTaps = 5;        // of a row's last chunk: two vectors of samples hold what they need
inline constexpr int kVectorsAtOnce = 5;   // loads of a thread that are under way together
inline constexpr int kElementsAtOnce = 8;  // the same of elements that come alone
inline constexpr int kChunkPitch = 8;      // floats of shared memory for a chunk's taps of one row

/// Masks of so many taps have kernels of four blocks a multiprocessor, others of three, which keep more in registers. H200, f32:
/// 4,000 images of 64 x 64 with 3 x 3 taps 66 and 74 us, 4096 x 4096 with 7 x 7 87 and 86, with 15 x 15 225 and 212.
inline constexpr std::int64_t kFewTaps = 36;

/// Chunks of a row of so many taps; all but the last have kChunk.
__host__ __device__ constexpr int chunks_of(int mask_width) {
    return mask_width <= kMostTaps ? 1 : (mask_width - kMostTaps + kChunk - 1) / kChunk + 1;
}

/// A filtered axis of the image, in elements.
struct Side {
    std::int64_t n, origin, in_stride, out_stride;
    std::int64_t in_first, in_last;  // the samples that are there
    std::int64_t first, outputs;     // of the job
    Boundary boundary;
    int mask;
};

/// How planes of pixels, a channel of an image each, are divided among blocks and threads.
struct Cut {
    int strips_x, strips_y, planes;         // of a block: strips of kAcross x kDown outputs a thread, side by side, down, planes
    int rows, columns, pitch;               // a plane's window; floats from one row to the next
    int skew;                               // more of them behind each kDown rows, so that lanes of two strips meet in no bank
    int load_columns, load_rows;            // threads that load side by side, and that many rows of them
    int group_columns, group_rows;          // the same where each loads kAcross neighbours
    std::int32_t by_columns;                // memory has columns side by side, not rows: lanes go down them
    std::int32_t by_vectors;                // rows' elements are neighbours, of a type that is loaded kAcross at a time
    std::int32_t store_vectors;             // a thread's outputs of a row are whole vectors of memory
    std::int64_t tiles_x, tiles_y, groups;  // of a plane; of planes
    std::int32_t groups_first;              // blocks that work at a time have channels of one image
};

struct TileArguments {
    void* out;         // output (first, 0) of the first plane
    const void* in;    // sample (in_first, 0) of the first plane
    const void* taps;  // (chunks, mask rows, kChunkPitch)
    Side y, x;
    std::int64_t planes, channels;  // plane p is channel p % channels of image p / channels
    std::int64_t in_image, out_image, in_channel, out_channel;
    Dtype input_type;
    int input_bytes, output_bytes;
    double absent;  // what stands where there is no sample
    Cut cut;
    Arguments common;  // epilogue and output type; nothing else is set
};

inline constexpr int kMostByValue = 9;  // taps of each side of square masks with kernels of their own
inline constexpr int kMostHeld = 5;     // copies of a thread that wait in registers

/// Many small images: a block takes whole ones, Cut::planes at a time.
struct Bands {
    int each;          // floats that a copy brings, or that stand in a whole vector of shared memory: 4, 2, 1
    int across, down;  // copies of a row, a thread each, and rows of them at a time; pixels of less than 4 bytes: kAcross a copy
    int plane_pitch;   // floats from a plane's window to the next
    int stage;         // floats of a stage: a band's windows
    int edges;         // elements of a plane's window that are not its own and change with the image
    float taps[kMostByValue * kMostByValue];  // of square masks that have a kernel
};

/// Shared memory of bands by what lies there, in bytes that are multiples of 16.
struct BandBytes {
    int strips, rows, edges, taps, stages;
    [[nodiscard]] std::size_t all() const { return static_cast<std::size_t>(strips + rows + edges + taps + stages); }
};
__host__ __device__ inline BandBytes band_bytes_of(const Cut& c, const Bands& b, std::int64_t height, int mask_width,
                                                   int mask_height) {
    const auto whole = [](int bytes) { return (bytes + 15) / 16 * 16; };
    return {16 * c.strips_x * c.strips_y * c.planes, whole(8 * c.planes * static_cast<int>(height)), whole(8 * b.edges),
            4 * kChunkPitch * chunks_of(mask_width) * mask_height, 2 * 4 * b.stage};
}

using Kernel = void (*)(TileArguments);
using BandKernel = void (*)(TileArguments, Bands);
BandKernel band_kernel_of(int mask_height, int mask_width, int pixel_bytes);
/// Square masks of so many taps a side get them by value.
inline bool takes_taps_by_value(int mask_height, int mask_width) {
    return mask_height == mask_width && mask_width % 2 == 1 && mask_width >= 3 && mask_width <= kMostByValue;
}
/// `sums`: f32, f64, or i32: those of 32 bits that wrap.
Kernel kernel_of(std::int64_t taps, Dtype sums);
Kernel kernel_of_doubles();
Kernel kernel_of_integers(bool few);

/// Bytes of shared memory: where rows and columns of the windows come from, taps, windows. `number`: bytes of a sum.
inline std::size_t shared_bytes_of(const Cut& c, int mask_width, int mask_height, int number) {
    const int sources = (c.rows * c.planes + c.columns + 3) / 4 * 4;
    const int numbers = chunks_of(mask_width) * mask_height * kChunkPitch + c.rows * c.planes * c.pitch;
    return sizeof(int) * static_cast<std::size_t>(sources) + static_cast<std::size_t>(number) * static_cast<std::size_t>(numbers);
}

}  // namespace tapline::cuda::image_tiles_rung

namespace tapline::cuda {

const Rung& image_tiles();

}  // namespace tapline::cuda
