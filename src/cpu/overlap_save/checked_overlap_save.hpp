// Overlap-save whose outputs keep the bound of strict accuracy: transforms in double of samples of f32, each output checked.
#pragma once

#include <memory>

#include "core/choice/engine.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {

/// Yes for real and complex samples of f32 under finite taps.
core::Support supports_checked(const core::Resolved& problem, const core::Request& request);

/// Of a problem that supports_checked(); `shape` is its checked_shape().
std::unique_ptr<core::Executable> prepare_checked(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                  const OverlapSaveShape& shape);

}  // namespace tapline::cpu
