// Whether a rung's output is right: compared with the textbook sum, which is computed once for all rungs of a table.
#pragma once

#include <string>

#include "cli/ladder/ladder_model.hpp"
#include "cli/measure/reference_blocks.hpp"

namespace tapline::cli {

/// Floats behind the output that stay as they were: a rung that writes past its end is WRONG.
inline constexpr std::int64_t kGuard = 64;

/// Random signal and taps, never zeros. Taps of a clamped signal are scaled so that most sums lie within the limits.
CaseData ladder_data(const LadderCase& contest);
CaseData data_of(const KnownAnswer& known);

/// The problem of a known answer, with the operation of its case.
Problem problem_of(const KnownAnswer& known, const Problem& like);

/// `out`: output_extent + kGuard floats that were all ones (NaN) before. Empty: right; else what is wrong.
std::string check_output(const ReferenceBlocks& expected, const Bytes& out, CheckResult& result);

/// Empty: `out` begins with the expected values and the guard holds; else what is wrong.
std::string check_known(const KnownAnswer& known, const Bytes& out);

}  // namespace tapline::cli
