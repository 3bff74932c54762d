// Between the caller's memory, laid out as it likes, and packed pinned buffers: by all threads, the boundary rule applied.
#pragma once

#include "gpu_host/chunks.hpp"

namespace tapline::gpu_host {

/// to: piece.items x piece.count packed elements of the input, as the cut axis' boundary rule extends it.
void gather_piece(void* to, const core::Resolved& problem, const core::Input& input, const PackedPiece& piece, int threads);

/// from: piece.items x piece.count packed elements of the output, to where `output` has them.
void scatter_piece(const core::Output& output, const void* from, const core::Resolved& problem, const PackedPiece& piece,
                   int threads);

}  // namespace tapline::gpu_host
