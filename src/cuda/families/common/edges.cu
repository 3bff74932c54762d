#include "cuda/families/common/edges.hpp"

#include <algorithm>

#include "cuda/families/common/grids.hpp"
#include "cuda/families/common/types.hpp"
#include "cuda/launch.hpp"
#include "cuda/primitives/edge_kernel.cuh"

namespace tapline::cuda {

Edges load_edges(const Prepared& prepared, Edges stretches) {
    const Problem& p = prepared.problem;
    stretches.kernel = with_types(
        p.dtype, p.taps_dtype, []<class S, class H>(ElementType<S>, ElementType<H>) -> EdgeKernel { return &edge_kernel<S, H>; });
    stretches.sample_bytes = type_of(p, prepared.device).bytes;
    load_kernel(stretches.kernel);
    return stretches;
}

void launch_edges(const Edges& edges, const Arguments& a, void* partial, cudaStream_t stream) {
    const std::int64_t per_vector = 16 / edges.sample_bytes;
    const bool aligned = reinterpret_cast<std::uintptr_t>(a.in) % static_cast<std::uintptr_t>(edges.sample_bytes) == 0;
    if (a.plain_layout != 0 && aligned && a.zero_vectors != 0) { return; }
    std::int64_t head = a.tiles;
    std::int64_t tail = 0;
    // As tile_window_of: whose window begins before the piece, whose ends behind it. Where taps are not finite even a piece may
    // hold terms that are absent: there none is fast.
    if (a.plain_layout != 0 && aligned && a.exact_edges != kExact) {
        const std::int64_t offset = a.first - a.origin - a.in_first;
        const std::int64_t last = offset + (edges.segments - 1) * edges.segment_taps;
        head = std::clamp<std::int64_t>(divide_up(std::max<std::int64_t>(per_vector - offset, 0), edges.outputs), 0, a.tiles);
        const std::int64_t room = (a.in_last - a.in_first) - edges.size - last;
        const std::int64_t first_tail = room < 0 ? 0 : room / edges.outputs + 1;
        tail = a.tiles - std::clamp(first_tail, head, a.tiles);
    }
    if (head + tail == 0) { return; }
    const std::int64_t segment_taps = edges.segments > 1 ? edges.segment_taps : a.k;
    const std::int64_t tile = 32 * per_vector;
    const std::int64_t blocks = divide_up((head + tail) * divide_up(edges.outputs, tile), kEdgeThreads / 32) * edges.segments;
    const std::size_t shared = static_cast<std::size_t>(kEdgeThreads / 32 * (tile + kEdgeSlots)) * edges.sample_bytes;
    launch_kernel(edges.kernel, grid_of_rows(blocks, a.rows), kEdgeThreads, shared, stream, a, edges.outputs, edges.size, head,
                  tail, edges.segments, segment_taps, partial);
}

}  // namespace tapline::cuda
