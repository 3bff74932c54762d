// In which types a run is computed.
#pragma once

#include "cli/convolve/convolve_job.hpp"
#include "cli/shared/taps_source.hpp"
#include "io/reader.hpp"

namespace tapline::cli {

/// The job as a problem, without length, batch and filters. Integers with integer taps stay exact; else the wider floating type
/// wins as in tapline::convolve, except that written taps and sounds take the signal's type, and that a wider --dtype is computed
/// in. Throws Error for integer taps that do not fit their type.
Problem promoted_problem(const ConvolveJob& job, const io::Info& info, const TapsSet& taps);

}  // namespace tapline::cli
