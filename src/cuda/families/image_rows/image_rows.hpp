// Images under masks of one row or one column, as signals.
#pragma once

#include "cuda/rung.hpp"

namespace tapline::cuda {

const Rung& image_rows();

}  // namespace tapline::cuda
