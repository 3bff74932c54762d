// The stretches of rows that a fast kernel leaves: which, and the launch of the kernel that does them (edge_kernel.cuh).
#pragma once

#include "cuda/primitives/arguments.hpp"

namespace tapline::cuda {

using EdgeKernel = void (*)(Arguments a, int outputs, std::int64_t size, std::int64_t head, std::int64_t tail, int segments,
                            std::int64_t segment_taps, void* partial);

/// How a fast kernel divides a row; and the edge kernel, once load_edges() has loaded it.
struct Edges {
    int outputs = 0;        // of a stretch
    std::int64_t size = 0;  // samples of its window
    int segments = 1;       // of the taps
    std::int64_t segment_taps = 0;
    EdgeKernel kernel = nullptr;
    int sample_bytes = 0;
};
Edges load_edges(const Prepared& prepared, Edges stretches);

/// Launches the edge kernel if the fast one may have left something; a.tiles is the number of stretches of a row. `partial`: where
/// bare sums of segments go, or null.
void launch_edges(const Edges& edges, const Arguments& arguments, void* partial, cudaStream_t stream);

}  // namespace tapline::cuda
