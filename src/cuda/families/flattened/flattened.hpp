// Images and volumes as long signals: what the kernels around the signal's own rung and their launches share.
#pragma once

#include <cuda_runtime.h>

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {

const Rung& flattened_images();
const Rung& flattened_volumes();

namespace flattened {

inline constexpr int kThreads = 256;
inline constexpr int kOfThread = 4;  // elements at a time
inline constexpr int kUnits = 32;    // one after the other, a multiple of it

/// An axis from the outermost, z, to x. Strides count elements.
struct FlatAxis {
    std::int64_t n, outputs, origin, in_stride, out_stride;
    int taps;
    Boundary boundary;
};

/// A launch's planes, one a channel of an image or volume, laid out as signals: rows of x, each with `taps - 1` samples more than
/// it has outputs, one behind the other.
struct Planes {
    FlatAxis z, y, x;
    const void* in;
    void* out;
    void* signals;        // (planes, signal_pitch), of the type of sums, every sample finite
    const void* results;  // (planes, result_pitch)
    int* next;            // as signals: where in its row the next sample lies that is not finite, if any is
    unsigned* found;      // whether any is
    const void* masks;    // (filters, taps), mask_bytes apart
    std::int64_t mask_bytes;
    std::int64_t planes, first_plane, channels, filters;
    std::int64_t in_batch, out_batch, in_channel, out_channel;
    std::int64_t row, signal_pitch, result_pitch;  // elements
    Dtype input_type;
    int input_bytes, output_bytes, real_taps;
    Arguments common;  // constant, epilogue and output type; nothing else is set
};

/// How blocks go through rows of x, of signals or of results: a unit is `width` elements of one row, or of several short ones.
struct Sheet {
    std::int64_t row, rows_y, rows_z;  // elements that are wanted of a row; rows
    std::int64_t stretches, units;     // of a row; of all
    int width_bits, rows_bits;         // kThreads is 2^(both)
};

using Kernel = void (*)(Planes planes, Sheet sheet);

struct Kernels {
    Kernel lay_out = nullptr;    // in -> signals, found
    Kernel find_next = nullptr;  // next, where something was found
    Kernel take_back = nullptr;  // results -> out
};
/// Loaded, for a type of sums.
Kernels load_kernels(Dtype sum_dtype);

}  // namespace flattened
}  // namespace tapline::cuda
