// Host buffers on a GPU: chunks of a signal or an image flow through pinned memory while others are uploaded, computed and
// downloaded.
#pragma once

#include <atomic>

#include "core/problem/window.hpp"
#include "gpu_host/library.hpp"

namespace tapline::gpu_host {

/// What run_pipeline() needs of a plan.
struct PipelineTask {
    const cuda_abi::Api* api = nullptr;
    int device = 0;
    const cuda_abi::Prepared* prepared = nullptr;
    const core::Resolved* problem = nullptr;
    bool takes_pieces = true;      ///< else the whole problem is one chunk
    std::int64_t granularity = 1;  ///< of the rung's outputs
    std::int64_t workspace_bytes = 0;
    int threads = 1;  ///< half of them copy in, half copy out
    /// Items [first_item, first_item + items) of the batch; 0 items: all. Others are another run's.
    std::int64_t first_item = 0, items = 0;
    /// Which of the sets of filters that the problem's outer axes step through, of a plan that holds all of them.
    std::int64_t set = 0;
    /// Set by a run that fails; one that finds it set stops, with its outputs incomplete. nullptr: a run of its own.
    std::atomic<bool>* stop = nullptr;
};

/// Outputs [output.first, output.first + output.count) along the cut axis of every item of the batch, from and to pageable host
/// memory; returns when they are there. The bits are those of the whole problem at once as far as the rung computes each output
/// alike in every chunk. Throws Error; all that was allocated is given back or kept for the next call, and nothing runs any more.
/// `output` and `input` are those of all items.
void run_pipeline(const PipelineTask& task, const core::Output& output, const core::Input& input);

}  // namespace tapline::gpu_host
