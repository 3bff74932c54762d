// Small parts of plans: threads, checks of buffers, kept workspaces, the prediction in words.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/plan/host_memory.hpp"
#include "core/problem/resolved.hpp"
#include "tapline/plan.hpp"

namespace tapline::core {

/// A number of threads as a caller gives it, 0 for all cores. Throws Error (argument).
int resolve_threads(int threads);

/// A buffer's first element, element type and extent around it.
struct BufferFacts {
    const void* data = nullptr;
    Dtype dtype = Dtype::f32;
    Extent extent;
};

/// Both are aligned to their parts and lie apart. Throws Error (argument).
void check_buffers(const BufferFacts& out, const BufferFacts& in);
/// Throws Error (argument) for a workspace that is too small or not aligned.
void check_workspace(std::span<const std::byte> workspace, std::size_t needed);
/// A typed buffer of `size` elements against what the plan needs. Throws Error (type, argument).
void check_typed_buffer(const char* name, Dtype dtype, Dtype wanted, std::int64_t size, std::int64_t extent);

/// Of at least `bytes` bytes, kept by the calling thread up to 16 MiB so that small calls do not allocate, else in `own`.
std::byte* workspace_for(std::size_t bytes, AlignedBytes& own);

/// explain()'s last line; `unit` follows the time.
std::string prediction_text(double seconds, double copy_seconds, const char* unit, Accuracy accuracy, std::size_t workspace_bytes);

}  // namespace tapline::core
