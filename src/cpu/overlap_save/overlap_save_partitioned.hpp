// The executable of partitioned_algorithm().
#pragma once

#include "core/choice/engine.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {

std::unique_ptr<core::Executable> prepare_partitioned(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                      const OverlapSaveShape& shape);

}  // namespace tapline::cpu
