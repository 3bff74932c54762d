// Images timed on a GPU.
#pragma once

#include "cli/bench_case.hpp"
#include "tapline/image.hpp"

namespace tapline::cli {

/// A plan of a GPU on `image`, packed, beside the copy of the image there; the L2 cache is overwritten before each run.
CaseTimes time_image_on_gpu(const ImagePlan& plan, const Bytes& image, double seconds);

}  // namespace tapline::cli
