// One benchmark case: check the result, then time it beside the copy.
#pragma once

#include <optional>
#include <string>

#include "cli/elements.hpp"
#include "tapline/plan.hpp"

namespace tapline::cli {

/// Random signal and taps of a problem, and room for its output and for the copy.
struct BenchData {
    Bytes signal;
    Bytes taps;
    Bytes output;
    Bytes copied;  ///< as large as the signal
};

/// Floating values are uniform in [-1, 1); integers so small that no sum can overflow. The same data for the same problem.
/// Every page is touched.
BenchData make_bench_data(const Problem& problem);

struct CheckResult {
    double error = 0;  ///< relative L2 error over the checked outputs; for integers the number of wrong ones
    double tolerance = 0;
    [[nodiscard]] bool ok() const { return error <= tolerance; }
};

/// Executes once into an output full of NaN and compares blocks at both ends, in the middle and at random places with
/// the reference.
CheckResult check(const Plan& plan, const BenchData& data);

struct Timing {
    double median = 0;
    double least = 0;
    double most = 0;
    int runs = 0;
};

struct CaseTimes {
    Timing convolution;
    double copy_seconds = 0;            ///< std::memcpy of the signal on the plan's threads, median
    double streaming_copy_seconds = 0;  ///< with streaming stores
};

/// Convolution, copy and streaming copy take turns for about `seconds`, at least three times each. Short ones are repeated
/// inside one measurement, so that the clock does not count.
CaseTimes time_case(const Plan& plan, const BenchData& data, double seconds);

/// Multiplications and additions of the textbook sum for one execution.
double textbook_flops(const Problem& problem);

}  // namespace tapline::cli
