// The ladder's run as one self-contained page.
#pragma once

#include <string>

#include "cli/ladder/ladder_model.hpp"

namespace tapline::cli {

/// HTML with its style and its drawings inside: no scripts, nothing from elsewhere.
std::string ladder_report(const LadderRun& run);

}  // namespace tapline::cli
