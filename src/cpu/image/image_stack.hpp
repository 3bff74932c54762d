// Many small images: SIMD lanes lie across the images instead of along their rows.
#pragma once

#include <functional>
#include <memory>

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// Whether images are so small, and so many, that they are summed side by side.
bool takes_stack(const core::Resolved& problem);

/// Of such images what moving them and their outputs takes one thread beside the sums.
double seconds_of_stacking(const core::Resolved& problem);

/// Some images at a time become channels of one, which `prepare` makes the executable for, and their outputs go back. Bits are
/// those of each image by itself. `seconds`: of all, on one thread.
using PrepareStacked = std::function<std::unique_ptr<core::Executable>(const core::Resolved& stacked)>;
std::unique_ptr<core::Executable> prepare_stack(const core::Resolved& problem, int threads, double seconds,
                                                const PrepareStacked& prepare);

}  // namespace tapline::cpu
