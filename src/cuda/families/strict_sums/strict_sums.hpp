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

/// Samples to doubles one after the other.
struct Widen {
    const float* in;
    double* to;
    Walk walk;
    unsigned* largest;  ///< the bits of the largest finite magnitude
};

/// A filtered axis of outputs [0, outputs).
struct SumAxis {
    std::int64_t n, k, origin, in_stride;
    Boundary boundary;
};

/// Doubles to outputs, those that keep the bound; others are summed anew.
struct Check {
    const double* from;
    Walk walk;                               // of outputs
    int places[3];                           // which of its axes x, y and z are, or -1
    std::int64_t in_steps[Walk::kMostAxes];  // of samples, of its other axes
    SumAxis x, y, z;
    const float* in;
    const float* taps;  // in correlation order
    std::int64_t filters, filter_elements;
    int filter_axis;  // of the walk: filter number is its place % filters; -1: 0
    float* out;
    const unsigned* largest;
    double least;      // an output that is so many times the largest sample has kept it
    Arguments common;  // the constant and the epilogue
};

using WidenKernel = void (*)(Widen w);
using CheckKernel = void (*)(Check c);
WidenKernel widen_kernel();
CheckKernel check_kernel();

}  // namespace strict_sums
}  // namespace tapline::cuda
