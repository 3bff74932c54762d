// Overlap-save whose outputs keep the bound of strict accuracy: transforms in double of samples of f32, each output checked.
#pragma once

#include <memory>

#include "core/choice/engine.hpp"
#include "cpu/overlap_save/overlap_save_blocks.hpp"
#include "cpu/overlap_save/overlap_save_shape.hpp"

namespace tapline::cpu {

/// How samples of f32 and outputs of a transform in double lie: positions follow each other, and both parts are neither in the same
/// sets of a cache nor at addresses that a load takes for a recent store.
WindowLayout checked_layout(const FftTables<double>& tables);
/// Elements of both parts.
inline std::int64_t extent_of(const WindowLayout& layout) { return layout.im_offset + layout.size; }

/// For what is summed directly beside a transform.
core::Request on_one_thread(core::Request request);

/// Yes under finite taps.
core::Support supports_checked(const core::Resolved& problem, const core::Request& request);

/// Of a problem that supports_checked(); `shape` is its checked_shape().
std::unique_ptr<core::Executable> prepare_checked(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                  const OverlapSaveShape& shape);

}  // namespace tapline::cpu
