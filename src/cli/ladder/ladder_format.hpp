// The ladder's figures as people read them, the same in the terminal and in the report.
#pragma once

#include <string>
#include <vector>

#include "cli/ladder/ladder_model.hpp"

namespace tapline::cli {

/// "1,475x", "31.2x", "1.04x"; empty for 0.
std::string format_times(double factor);
/// "99.7%", "1.2%", "0.03%".
std::string format_share(double fraction);
/// `value` in units of 1e9, three digits at most before it becomes long: "4,210", "31.2", "0.031".
std::string format_giga(double value);
/// "1.6e-07".
std::string format_error(double error);
/// "n = 16 384, k = 32, mode full, convolution", "480x640x3 f32, mask 5x5, zero boundary, mode same, convolution".
std::string format_problem(const LadderCase& contest);

/// What a row is compared by: times naive, times previous, GB/s, share of the copy's speed, GFLOP/s, error.
std::vector<std::string> compared(const LadderRow& row);

/// "copy of the signal", "copy of the image".
std::string copy_label(const LadderTable& table);

/// Rungs that are left out for the same reason, in reading order.
struct SkippedGroup {
    std::string labels;  ///< "04 naive_reduction (C0), 05 reduction_over_taps (C1)"
    std::string reason;
};
std::vector<SkippedGroup> group_skipped(const std::vector<Skipped>& skipped);

/// Every rung of the run once, in reading order, with what it says about itself.
std::vector<Lesson> lessons_of(const LadderRun& run);

}  // namespace tapline::cli
