// Integers by the rungs for real numbers, in a type of sums that is exact for the taps.
#pragma once

#include "cuda/rung.hpp"

namespace tapline::cuda {

const Rung& integer_lines();
const Rung& integer_tiles();
const Rung& integer_planes();

}  // namespace tapline::cuda
