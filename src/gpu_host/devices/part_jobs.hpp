// What a device computes of its part: in place where no halo is needed, from a window where one is. Arithmetic only.
#pragma once

#include <vector>

#include "core/shard/sharded_plan.hpp"

namespace tapline::gpu_host {

/// Samples of the cut axis from the device that has them to a place in a window.
struct HaloCopy {
    std::int64_t part = 0;
    Span samples;
    std::int64_t position = 0;  ///< of the first, along the axis: with wrap outside [0, n)
};

/// Whole blocks, of which the part's are wanted; others' go nowhere.
struct EdgePiece {
    Span computed, wanted;
    [[nodiscard]] bool is_direct() const { return computed == wanted; }  ///< may be written to where it belongs
};

/// Outputs that need samples of others, or the boundary rule at an end of the signal, from a buffer that holds `window`.
struct Edge {
    Span window;
    std::vector<HaloCopy> copies;
    std::vector<EdgePiece> pieces;
    [[nodiscard]] std::int64_t scratch_outputs() const;  ///< room for the largest piece that is not direct
};

struct PartJobs {
    Span inner;  ///< from the part's own samples where they lie; may be empty
    std::vector<Edge> edges;
};

/// Of parts()[own], `blocks` being those that the parts were made with.
PartJobs part_jobs(const core::Axis& axis, std::span<const Part> parts, std::size_t own, const Blocks& blocks);

}  // namespace tapline::gpu_host
