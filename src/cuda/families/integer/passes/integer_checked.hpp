// Sums that might pass 64 bits, and rarely do: what the pass over the samples is told.
#pragma once

#include <cuda_runtime.h>

#include "cuda/families/common/walk.hpp"
#include "cuda/families/integer/integer_signal.hpp"

namespace tapline::cuda::integer {

struct Largest {
    Signal signal;  ///< its samples' place and type
    Walk walk;
    Found* found;
};
using LargestKernel = void (*)(Largest g);
LargestKernel largest_kernel();

}  // namespace tapline::cuda::integer

namespace tapline::cuda {
const Rung& checked_integer_signals();
const Rung& checked_integer_images();
const Rung& checked_integer_volumes();
}  // namespace tapline::cuda
