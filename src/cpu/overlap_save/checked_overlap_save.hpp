// Overlap-save whose outputs keep the bound of strict accuracy: transforms in double of samples of f32, each output checked.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "core/choice/engine.hpp"
#include "core/plan/parallel.hpp"
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

/// sum(from, to, slot) for pieces of the wanted of a segment's outputs [first, last), from and to counted in the row; by several
/// threads where they share a transform.
template <class T, class Sum>
void for_each_piece(const SegmentIo<T>& io, const Call& call, const Unit& unit, int side, std::int64_t block, std::int64_t first,
                    std::int64_t last, int threads, const Sum& sum) {
    constexpr std::int64_t kPiece = 4096;
    const auto want = io.wanted(call, unit, side);
    const std::int64_t origin = unit.segment[side] * block;
    const std::int64_t begin = origin + std::max(first, want.first), end = origin + std::min(last, want.first + want.count);
    if (begin >= end) { return; }
    if (threads == 1) { return sum(begin, end, 0); }
    const auto piece = [&](std::int64_t index, int slot) {
        const std::int64_t from = begin + index * kPiece;
        sum(from, std::min(from + kPiece, end), slot);
    };
    core::parallel_for((end - begin + kPiece - 1) / kPiece, threads, std::cref(piece));
}

/// Yes under finite taps.
core::Support supports_checked(const core::Resolved& problem, const core::Request& request);

/// Of a problem that supports_checked(); `shape` is its checked_shape().
std::unique_ptr<core::Executable> prepare_checked(const core::Resolved& problem, const void* taps, const core::Request& request,
                                                  const OverlapSaveShape& shape);

}  // namespace tapline::cpu
