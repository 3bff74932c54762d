// Tiles of images by transforms whose outputs keep the bound of strict accuracy.
#pragma once

#include <memory>

#include "core/choice/engine.hpp"
#include "cpu/image_fft/image_fft_tiles.hpp"

namespace tapline::cpu {

/// Under finite taps; `shape` is image_fft_shape() of the checked kind.
std::unique_ptr<core::Executable> prepare_checked_image(const core::Resolved& problem, const void* taps,
                                                        const core::Request& request, const ImageFftShape& shape);

}  // namespace tapline::cpu
