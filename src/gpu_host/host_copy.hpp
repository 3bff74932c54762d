// Between the caller's memory, laid out as it likes, and packed pinned buffers: by all threads, the boundary rule applied.
#pragma once

#include "gpu_host/host_chunks.hpp"

namespace tapline::core {

/// to: piece.rows x piece.count packed elements, x(piece.first ...) of each row.
void gather_piece(void* to, const Resolved& problem, const Input& input, const HostPiece& piece, int threads);

/// from: piece.rows x piece.count packed outputs, to where `output` has them.
void scatter_piece(const Output& output, const void* from, Dtype dtype, const HostPiece& piece, int threads);

}  // namespace tapline::core
