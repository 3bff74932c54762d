// Images timed on a GPU.
#pragma once

#include "cli/bench/bench_cuda.hpp"
#include "tapline/image.hpp"

namespace tapline::cli {

/// A plan of a GPU on `image`, packed, in turns with the copy of the image there.
CudaTimes time_image_on_gpu(const CudaDevice& device, const ImagePlan& plan, const Bytes& image, double seconds);

}  // namespace tapline::cli
