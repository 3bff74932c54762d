// The measured search behind `tapline tune` and the ladder's row `autotuned`: rungs with every size that they may be launched with.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cli/measure/cuda_device.hpp"
#include "cli/measure/reference_blocks.hpp"

namespace tapline::cli {

/// One policy of one rung.
struct Candidate {
    Policy policy;
    std::string failure;  ///< why it was not measured: refused or wrong; empty if it was
    bool wrong = false;   ///< the output differs from the reference
    double error = 0;
    Timing cold;
    Timing warm;
};

/// One rung's candidates, the default policy first.
struct SearchedRung {
    CudaRung rung;
    std::vector<Candidate> candidates;
    int best = -1;  ///< the candidate to keep; -1 if none is right
    [[nodiscard]] const Candidate& kept() const { return candidates[static_cast<std::size_t>(best)]; }
    /// The default policy's time, or the best one's if the default failed.
    [[nodiscard]] double default_seconds() const;
};

struct SearchResult {
    std::vector<SearchedRung> rungs;
    int fastest = -1;  ///< of rungs; -1 if none is right
    int measured = 0, of = 0;
};

struct SearchOptions {
    Accuracy accuracy = Accuracy::standard;
    double seconds = 0;                                             ///< of one candidate, cold and warm together
    double most_seconds = std::numeric_limits<double>::infinity();  ///< no candidate but the first begins later
    /// Hears of every candidate before it is prepared: the rung, the candidate of it, and the number of them all so far.
    std::function<void(const SearchedRung& rung, int candidates_of_it, int so_far)> progress;
};

/// Each policy (of a rung without a choice its own) is checked against the reference and then measured. Throws Error if the device
/// fails.
SearchResult search(CudaProblem& problem, const std::vector<CudaRung>& rungs, const ReferenceBlocks& expected,
                    const SearchOptions& options);

}  // namespace tapline::cli
