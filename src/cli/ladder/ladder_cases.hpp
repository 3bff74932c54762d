// The problems that the ladder is climbed on: each write-up's own test case, and ours.
#pragma once

#include <string>
#include <vector>

#include "cli/ladder/ladder_model.hpp"

namespace tapline::cli {

/// Every case in reading order. The two long ones are shorter on a CPU, whose naive loop has to finish too.
std::vector<LadderCase> ladder_cases(bool gpu);

/// "A, A2, ...": the keys of ladder_cases().
std::string ladder_case_keys();

}  // namespace tapline::cli
