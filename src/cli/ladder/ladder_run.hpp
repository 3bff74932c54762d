// Climbs the ladder: each rung is checked, then timed beside the copy.
#pragma once

#include "cli/ladder/ladder_engine.hpp"

namespace tapline::cli {

struct ClimbOptions {
    double seconds = 0.2;           ///< of one measurement
    double tune_seconds = 5;        ///< for the row `autotuned` of one table
    std::vector<std::string> only;  ///< numbers, names or origins of rungs; empty: all
};

/// The name that the row of the search has in `only`, beside its origin C6.
inline constexpr const char* kAutotuned = "autotuned";

LadderTable climb(const LadderEngine& engine, const LadderCase& contest, const ClimbOptions& options,
                  const LadderProgress& progress);

/// The rungs of family E and our own (on a CPU: all) over lengths from 2^12 to 2^26 (2^24).
Sweep sweep_lengths(const LadderEngine& engine, const Problem& problem, const ClimbOptions& options,
                    const LadderProgress& progress);

}  // namespace tapline::cli
