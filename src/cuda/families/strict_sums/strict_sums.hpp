// Strict accuracy by sums in double whose outputs are checked: what the passes around them are told.
#pragma once

#include <cuda_runtime.h>

#include "cuda/families/common/walk.hpp"
#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {

const Rung& strict_signals();
const Rung& strict_images();
const Rung& strict_volumes();

namespace strict_sums {

/// Samples to numbers of double one after the other.
struct Widen {
    const void* in;
    void* to;
    Walk walk;
    unsigned* largest;  ///< the bits of a float, at least the largest finite magnitude of a sample or of its parts
    Dtype type;
};

/// A filtered axis of outputs [0, outputs).
struct SumAxis {
    std::int64_t n, k, origin, in_stride;
    Boundary boundary;
};

/// Numbers of double to outputs, those that keep the bound; others are summed anew.
struct Check {
    const void* from;
    Walk walk;                               // of outputs
    int places[3];                           // which of its axes x, y and z are, or -1
    std::int64_t in_steps[Walk::kMostAxes];  // of samples, of its other axes
    SumAxis x, y, z;
    const void* in;    // samples in double, one after the other
    const void* taps;  // in correlation order
    std::int64_t filters, filter_elements;
    int filter_axis;  // of the walk: filter number is its place % filters; -1: 0
    int together;     // whether all warps of a block sum an output together
    void* out;
    const unsigned* largest;
    double least;      // an output, or its part, that is so many times the largest sample has kept it
    Arguments common;  // the constant and the epilogue
};

using WidenKernel = void (*)(Widen w);
using CheckKernel = void (*)(Check c);
/// Null where there is none for the type of samples; for the taps f32 or complex64.
WidenKernel widen_kernel(Dtype samples);
CheckKernel check_kernel(Dtype samples, Dtype taps);

}  // namespace strict_sums
}  // namespace tapline::cuda
