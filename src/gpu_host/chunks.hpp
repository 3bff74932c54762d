// How host buffers are cut into chunks for a GPU: arithmetic only.
#pragma once

#include <algorithm>

#include "core/problem/window.hpp"

namespace tapline::gpu_host {

/// The sizes of the pipeline. Tests make them small.
struct PipelineSettings {
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
    std::int64_t kept_bytes = std::int64_t{256} << 20;  ///< of pinned and of device memory kept between calls, each, a device
};

/// In force from the next call on; not for use while a pipeline runs.
PipelineSettings& pipeline_settings();

/// Items [item, item + items) of the batch and of each the outputs [first, first + count) along the cut axis, computed from the
/// positions [in_first, in_last) of the input there, which may lie outside the signal or the image.
struct Chunk {
    std::int64_t item, items, first, count, in_first, in_last;
};

/// Part of a chunk that one pinned buffer holds: of each item the packed elements [first, first + count). Element 0 is the first
/// one of the cut axis' position 0; a signal has one element at a position, an image a row of them.
struct PackedPiece {
    std::int64_t item, items, first, count;
};

/// Outputs [output.first, ...) of all items as chunks: item_groups x blocks of them, items first.
struct Chunks {
    bool whole = false;  ///< one chunk: the whole problem as it is, the boundary left to the rung
    int slots = 1;
    std::int64_t items = 1;    ///< of the batch in a chunk
    std::int64_t outputs = 1;  ///< along the cut axis of an item in a chunk
    std::int64_t item_groups = 1;
    std::int64_t blocks = 1;
    std::int64_t in_bytes = 0;   ///< the largest chunk's
    std::int64_t out_bytes = 0;  ///< the largest chunk's
    [[nodiscard]] std::int64_t count() const { return item_groups * blocks; }
};

/// Chunks of which `slots` and the workspace fit into `device_bytes`, of whole multiples of `granularity` outputs along the cut
/// axis where there is room for that many. Throws Error (memory) if not even a small one does.
Chunks cut_into_chunks(const core::Resolved& problem, const core::Output& output, const core::Input& input, bool takes_pieces,
                       std::int64_t workspace_bytes, std::int64_t device_bytes, std::int64_t granularity = 1);

Chunk chunk_at(const Chunks& chunks, const core::Resolved& problem, const core::Output& output, const core::Input& input,
               std::int64_t index);

/// The rectangle (items x count) in pieces of at most piece_bytes: `visit(piece)` in the order in which they lie in memory.
template <class Visit>
void for_each_piece(const PackedPiece& all, std::size_t element_bytes, std::int64_t piece_bytes, const Visit& visit) {
    const std::int64_t most = std::max<std::int64_t>(piece_bytes / static_cast<std::int64_t>(element_bytes), 1);
    if (all.count == 0) { return; }
    const std::int64_t items = std::max<std::int64_t>(most / all.count, 1);
    const std::int64_t count = items > 1 ? all.count : std::min(most, all.count);
    for (std::int64_t item = 0; item < all.items; item += items) {
        for (std::int64_t first = 0; first < all.count; first += count) {
            visit(PackedPiece{all.item + item, std::min(items, all.items - item), all.first + first,
                              std::min(count, all.count - first)});
        }
    }
}

}  // namespace tapline::gpu_host
