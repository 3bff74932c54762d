// The textbook sum in two dimensions: the oracle of every image test. Shares no code with the engines.
#pragma once

#include <vector>

#include "reference/reference.hpp"
#include "tapline/image.hpp"

namespace tapline::reference {

/// Sums before the epilogue, packed: image by image, row by row, channels interleaved.
Sums image_sums(const ImageProblem& problem, const void* in, const void* taps);

}  // namespace tapline::reference
