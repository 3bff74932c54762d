// What a problem is measured with: random signals and taps, always the same for the same problem.
#pragma once

#include "cli/shared/elements.hpp"
#include "tapline/problem.hpp"

namespace tapline::cli {

/// Signals and taps of a problem, and room for its output and for the copy.
struct CaseData {
    Bytes signal;
    Bytes taps;
    Bytes output;
    Bytes copied;  ///< as large as the signal
};

struct DataOptions {
    bool with_copy = true;
    bool rounded_taps = false;  ///< to the type of the signal, f16 or bf16, as taps are where all else is of that type
    bool separable = false;     ///< masks that are a column times a row; only real ones
};

/// Floating values are uniform in [-1, 1); integers so small that no sum can overflow; real masks positive with the sum 1. Every
/// page of signal and taps, and of `copied` if it is wanted, is touched.
CaseData make_case_data(const Problem& problem, const DataOptions& options = {});

}  // namespace tapline::cli
