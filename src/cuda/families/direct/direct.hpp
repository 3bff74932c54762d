// Direct summation on the CUDA cores, as the table of rungs sees it.
#pragma once

#include "cuda/forward.hpp"

namespace tapline::cuda {

const Rung& direct_few();
const Rung& direct_window();
const Rung& direct();
const Rung& split_taps();
const Rung& direct_tiles();
const Rung& direct_across();
const Rung& direct_columns();
const Rung& direct_rows();
const Rung& direct_widened();
const Rung& direct_words();

}  // namespace tapline::cuda
