// How host buffers are cut into chunks for a GPU: arithmetic only.
#pragma once

#include <algorithm>

#include "core/problem/window.hpp"

namespace tapline::core {

/// The sizes of the pipeline. Tests make them small.
struct HostPipelineSettings {
    /// A pinned buffer: what is copied in, uploaded, downloaded or copied out at once; the buffers in use stay in a shared cache.
    std::int64_t piece_bytes = std::int64_t{16} << 20;
    /// A chunk's output or input, whichever is more; more for long filters. 8 MiB are 0.15 ms on a 55 GB/s link, far more than
    /// starting a copy takes, and a signal of a few chunks still overlaps.
    std::int64_t chunk_bytes = std::int64_t{8} << 20;
    /// The same for signals of many such chunks, since threads meet after each: 2^28 f32 samples and 8 threads each way take 73,
    /// 49 and 43 ms with chunks of 4, 8 and 16 MiB.
    std::int64_t large_chunk_bytes = std::int64_t{16} << 20;
    int pieces = 4;                                     ///< pinned buffers each way
    int slots = 4;                                      ///< chunks on the device: uploaded, waiting, computed, downloaded
    std::int64_t kept_bytes = std::int64_t{256} << 20;  ///< of pinned and of device memory kept between calls, each
};

/// In force from the next call on; not for use while a pipeline runs.
HostPipelineSettings& host_pipeline_settings();

/// Rows [row, row + rows) and of each the outputs [first, first + count), computed from the samples [in_first, in_last) at real
/// positions, which for boundaries other than zero may lie outside the signal.
struct HostChunk {
    std::int64_t row, rows, first, count, in_first, in_last;
};

/// The rectangle (rows x count) of packed elements that one pinned buffer holds; positions of samples or outputs.
struct HostPiece {
    std::int64_t row, rows, first, count;
};

/// Outputs [output.first, ...) of all rows as chunks: row_groups x blocks of them, rows first.
struct HostChunks {
    bool whole = false;  ///< one chunk: the whole signal as it is, the boundary left to the rung
    int slots = 1;
    std::int64_t rows = 1;     ///< of a chunk
    std::int64_t outputs = 1;  ///< of a row in a chunk
    std::int64_t row_groups = 1;
    std::int64_t blocks = 1;
    std::int64_t in_bytes = 0;   ///< the largest chunk's
    std::int64_t out_bytes = 0;  ///< the largest chunk's
    [[nodiscard]] std::int64_t count() const { return row_groups * blocks; }
};

/// Chunks of which `slots` and the workspace fit into `device_bytes`, of whole multiples of `granularity` outputs a row where there
/// is room for that many. Throws Error (memory) if not even a small one does.
HostChunks cut_into_chunks(const Resolved& problem, const Output& output, const Input& input, bool takes_pieces,
                           std::int64_t workspace_bytes, std::int64_t device_bytes, std::int64_t granularity = 1);

HostChunk chunk_at(const HostChunks& chunks, const Resolved& problem, const Output& output, const Input& input, std::int64_t index);

/// The rectangle (rows x count) in pieces of at most piece_bytes: `visit(piece)` in the order in which they lie in memory.
template <class Visit>
void for_each_piece(const HostPiece& all, std::size_t element_bytes, std::int64_t piece_bytes, const Visit& visit) {
    const std::int64_t most = std::max<std::int64_t>(piece_bytes / static_cast<std::int64_t>(element_bytes), 1);
    if (all.count == 0) { return; }
    const std::int64_t rows = std::max<std::int64_t>(most / all.count, 1);
    const std::int64_t count = rows > 1 ? all.count : std::min(most, all.count);
    for (std::int64_t row = 0; row < all.rows; row += rows) {
        for (std::int64_t first = 0; first < all.count; first += count) {
            visit(HostPiece{all.row + row, std::min(rows, all.rows - row), all.first + first, std::min(count, all.count - first)});
        }
    }
}

}  // namespace tapline::core
