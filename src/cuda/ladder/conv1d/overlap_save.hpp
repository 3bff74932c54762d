// Overlap-save: sizes that the kernels and their launches share.
#pragma once

#include <cfloat>
#include <cstdint>

#include "cuda/ladder/rung.hpp"

namespace tapline::cuda::overlap_save {

inline constexpr int kPoints = 1024;             // that a warp transforms
inline constexpr int kBufferPoints = 32 * 33;    // one point more a row: rows and columns are free of bank conflicts
inline constexpr int kPairs = 16 * 32;           // (c, t) of a lane's transform, primitives/fft.cuh

template <class T>
struct Limits {
    static constexpr T kMost = FLT_MAX;
};
template <>
struct Limits<double> {
    static constexpr double kMost = DBL_MAX;
};

/// How rows are divided into segments and segments among warps.
struct Segments {
    const void* tables;           // pairs, twists, spectra of the filters
    std::int64_t start;           // from sample in_first to the first one of segment 0
    int segments;                 // of a row
    int outputs;                  // of a segment
    int skip, used;               // a segment's outputs read its samples [skip, used)
    int inner_first, inner_last;  // the segments of every row whose samples all lie in the piece
    int step_segments;            // from one of a warp's segments to its next: so many rows and segments
    std::int64_t step_rows;
};

/// Offsets into a block's shared memory.
struct SharedLayout {
    int barriers, pairs, twists, spectrum, points, samples, samples_bytes, bytes;
};

template <class Shape, int kWarps, int kPointBytes, bool kRowTaps>
#ifdef __CUDACC__
__host__ __device__
#endif
constexpr SharedLayout shared_layout() {
    constexpr int kSegments = Shape::kThreads / (32 * kWarps);
    SharedLayout l{};
    l.barriers = 0;
    l.pairs = (8 * kSegments + 15) / 16 * 16;
    l.twists = l.pairs + kPairs * kPointBytes;
    l.spectrum = l.twists + (Shape::kTwistTable ? kPoints : 64) * kWarps * kPointBytes;
    l.points = l.spectrum + (Shape::kSpectrumInShared && !kRowTaps ? kPoints * kWarps * kPointBytes : 0);
    l.samples = l.points + kSegments * kWarps * kBufferPoints * kPointBytes;
    l.samples_bytes = kPoints * kWarps * kPointBytes + 16;
    l.bytes = l.samples + (Shape::kAhead ? kSegments * l.samples_bytes : 0);
    return l;
}

}  // namespace tapline::cuda::overlap_save
