// The longest filters of integers by the rungs for real numbers: what the passes around them are told.
#pragma once

#include <cuda_runtime.h>

#include "cuda/families/integer/integer_signal.hpp"

namespace tapline::cuda::integer {

/// Numbers of 64 bits modulo 2^64 as `count` digits with a sign: each but the last of `bits`.
struct Parting {
    int count = 1, bits = 64;
};

/// Elements one after the other as axes of other steps, the nearest first.
struct Walk {
    static constexpr int kMostAxes = 2 + Rows::kMostOthers - 1;  // the filtered one, the batch, outer ones
    std::int64_t lengths[kMostAxes];
    std::int64_t steps[kMostAxes];
    std::int64_t first;  ///< where the first element is
    std::int64_t count;
    int filtered, batch;  ///< which of them these axes are; -1: of one element
};

/// Samples to rows of digits.
struct Split {
    Signal signal;
    Walk walk;
    double* to;
    std::int64_t plane;  ///< from one digit's rows to the next one's
    Parting digits;
};

/// Products of digits to sums, and the last one's sums to outputs.
struct Join {
    Signal signal;
    Walk walk;
    const double* from;
    std::int64_t* sums;  ///< null: there is one product
    int shift;           ///< what the product's unit is: 2^shift
    int is_first, is_last;
};

inline constexpr int kLongThreads = 256;
inline constexpr int kLongEach = 4;  // elements of a thread
using SplitKernel = void (*)(Split s);
using JoinKernel = void (*)(Join j);
SplitKernel split_kernel();
JoinKernel join_kernel();

}  // namespace tapline::cuda::integer

namespace tapline::cuda {
const Rung& integer_long();
}  // namespace tapline::cuda
