// The CPU's algorithms for images of packed pixels.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// Every product, tiles of outputs in SIMD registers.
const core::Algorithm& image_direct_algorithm();
/// A row pass and a column pass for each outer product that a mask is the sum of.
const core::Algorithm& image_separable_algorithm();
/// Tiles by fast Fourier transforms.
const core::Algorithm& image_fft_algorithm();

}  // namespace tapline::cpu
