// The rungs for images that run on the host.
#pragma once

#include <vector>

#include "cuda/rung.hpp"

namespace tapline::test::on_host {

/// Lessons, then families: in the order of their numbers.
std::vector<const cuda::Rung*> image_rungs();

}  // namespace tapline::test::on_host
