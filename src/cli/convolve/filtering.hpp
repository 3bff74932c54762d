// The computing stage of `tapline convolve`: chunks of the signal in, outputs out.
#pragma once

#include <functional>
#include <memory>

#include "cli/convolve/pipeline.hpp"
#include "cli/shared/taps_source.hpp"
#include "tapline/stream.hpp"

namespace tapline::cli {

/// Sees elements on their way: `frames` frames of `channels` interleaved elements of the first block.
using Observer = std::function<void(const void* data, std::int64_t frames, std::int64_t channels)>;

struct FilteringTask {
    Problem problem;  ///< everything but batch and filters; length is the layout's
    PlanOptions plan;
    const TapsSet* taps = nullptr;
    io::Layout layout;
    Dtype file_dtype = Dtype::f32;
    std::int64_t writer_channels = 1;
    Observer on_input;                                     ///< elements of problem.dtype; may be empty
    Observer on_output;                                    ///< elements of the output's dtype; may be empty
    std::function<void(const Plan&)> on_plan;              ///< called once, with the first plan
    std::function<void(std::int64_t frames)> on_progress;  ///< frames of the layout done, over all blocks
};

/// The problem with a length that does for what does not depend on it, where it is not known.
Problem with_length(Problem problem);

/// Where the chunks of a task end. Blocks of up to a few MiB are computed several at a time by a Plan; longer ones, and those of
/// interleaved columns, go through a Stream part by part.
Cutting cutting_for(const FilteringTask& task);

class Filtering {
public:
    virtual ~Filtering() = default;
    virtual void compute(const Chunk& chunk, Outlet& outlet) = 0;
};

std::unique_ptr<Filtering> make_filtering(const FilteringTask& task, const Cutting& cutting);

}  // namespace tapline::cli
