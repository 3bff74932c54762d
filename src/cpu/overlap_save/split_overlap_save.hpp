// Overlap-save of f64 samples whose outputs keep the bound of strict accuracy: samples and taps in two parts, each output checked.
#pragma once

#include <memory>

#include "core/choice/engine.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {

/// Of a problem of f64 or complex128 samples under finite taps; `shape` is its strict_shape().
std::unique_ptr<core::Executable> prepare_split(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                const OverlapSaveShape& shape);

}  // namespace tapline::cpu
