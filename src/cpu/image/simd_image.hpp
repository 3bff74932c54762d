// The inner loops for images, compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "cpu/targets.hpp"

namespace tapline::cpu {

/// out[r][e] = sum_{i < height} sum_{j < width} taps[i][j] * in[r + i][offset + e + step * j] for 0 <= r < rows and 0 <= e < count,
/// over flat real elements: `step` is the distance of neighbouring pixels. Each output is the same sequence of operations wherever
/// it stands: bits depend on the taps and on the instruction set only.
template <class T>
struct ImageCall {
    T* out = nullptr;
    std::int64_t out_pitch = 0;
    const T* const* in = nullptr;  ///< rows + height - 1 addresses
    const T* taps = nullptr;
    std::int64_t height = 0, width = 0, step = 1;
    std::int64_t offset = 0;
    std::int64_t group_rows = 0;  ///< of the mask that are summed before they join the total, a power of two; 0: all of them
    std::int64_t rows = 0;        ///< any number; best what call_rows() says
    std::int64_t count = 0;       ///< whole vectors; without `accumulate` also any number from kImagePadding on
    bool accumulate = false;      ///< adds the sum to out
    bool stream = false;          ///< past the caches, until flush(); out and out_pitch are multiples of 64 bytes
    /// `three` only: so many elements of each row's window are not there, at its begin and its end. They count as zeros and are not
    /// read.
    std::int64_t lead = 0, trail = 0;
};

inline constexpr std::int64_t kImageRows = 4;      ///< outputs below each other that share loads
inline constexpr std::int64_t kImagePadding = 16;  ///< elements of the widest vector

/// out[r][e] = sum_i column[i] * (sum_j row[j] * in[r + i][e + j]) for 0 <= r < rows and 0 <= e < count, the sums in this order.
template <class T>
struct SeparableCall {
    T* out = nullptr;
    std::int64_t out_pitch = 0;
    const T* const* in = nullptr;  ///< rows + height - 1 addresses
    const T* column = nullptr;
    const T* row = nullptr;
    std::int64_t height = 0, width = 0;  ///< width: at most kSeparableWidth<T>
    std::int64_t rows = 0;
    std::int64_t count = 0;     ///< at least kImagePadding
    bool stream = false;        ///< as in ImageCall
    T* buffer = nullptr;        ///< (rows + height - 1) * kSeparableStrip elements, aligned to vectors
    const T** lines = nullptr;  ///< rows + height - 1 addresses, for the kernel's own use
};

inline constexpr std::int64_t kSeparableStrip = 64;  ///< elements of the widest strip
template <class T>
inline constexpr std::int64_t kSeparableWidth = 128 / static_cast<std::int64_t>(sizeof(T));

/// What happens to sums on their way out. Without `active` they stay as they are.
template <class T>
struct LineEpilogue {
    bool active = false;
    T scale = 1, bias = 0, low = 0, high = 0;
};

template <class T>
struct ImageKernels {
    void (*sums)(const ImageCall<T>&) = nullptr;
    std::int64_t (*call_rows)(std::int64_t height, std::int64_t width, bool stream) = nullptr;
    /// A 3 x 3 mask, step 1, one group, any number of rows and outputs; neither reads nor writes beside them, nor accumulates.
    /// `stream`: out may be anywhere, out_pitch is a multiple of 64 bytes. Null where vectors have no masks.
    void (*three)(const ImageCall<T>&) = nullptr;
    /// Both passes at once; null where there are too few registers.
    void (*separable)(const SeparableCall<T>&) = nullptr;
    /// Up to kImagePadding elements behind the last sum may be read. `stream`: past the caches.
    void (*store)(T* out, const T* sums, std::int64_t count, const LineEpilogue<T>& epilogue, bool stream) = nullptr;
    /// to[r * to_pitch + i] = from[r * from_pitch + i] for 0 <= r < rows and 0 <= i < count.
    void (*copy_rows)(T* to, std::int64_t to_pitch, const T* from, std::int64_t from_pitch, std::int64_t rows,
                      std::int64_t count) = nullptr;
    bool (*all_finite)(const T* values, std::int64_t count) = nullptr;
    /// Ends a task that stored past the caches. Once for all its stores: each time it waits until memory has them.
    void (*flush)() = nullptr;
};

using ImageTable = KernelTable<ImageKernels>;

/// The kernels of a runnable target.
const ImageTable& image_kernels(Target target);

/// Those compiled without SIMD, in a source of their own.
const ImageTable& scalar_image_kernels();

}  // namespace tapline::cpu
