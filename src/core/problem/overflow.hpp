// What is said of an exact sum that its output's type cannot hold.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

#include "core/problem/int_range.hpp"
#include "core/problem/resolved.hpp"

namespace tapline::core {

inline std::string printed(long double value) {
    char text[64];
    std::snprintf(text, sizeof text, std::abs(value) < 1e30L ? "%.0Lf" : "%.6Lg", value);
    return text;
}

/// clamp(scale * sum + bias) in digits, rounded to even.
inline std::string overflow_value(const Resolved& problem, const Int192& sum) {
    const double low = problem.has_clamp ? problem.clamp.low : -HUGE_VAL, high = problem.has_clamp ? problem.clamp.high : HUGE_VAL;
    if (problem.scale == 1 && problem.bias == 0) {
        const Int192 least = to_int192(std::nearbyint(low)), greatest = to_int192(std::nearbyint(high));
        if (!problem.has_clamp) { return to_string(sum); }
        const Int192 raised = sum < least ? least : sum;
        return to_string(greatest < raised ? greatest : raised);
    }
    const long double r = to_floating<long double>(sum) * problem.scale + problem.bias;
    const long double raised = r < low ? static_cast<long double>(low) : r;
    return printed(std::nearbyint(raised > high ? static_cast<long double>(high) : raised));
}

/// "output (2, 5, 7) of channel 1 of item 3": z, y, x. Of images and volumes a row is a channel of an item, and outputs are counted
/// along all filtered axes, the last one fastest.
inline std::string place_of_output(const Resolved& problem, std::int64_t row, std::int64_t output) {
    if (problem.rank == 1) {
        return "output " + std::to_string(output) + (problem.batch.length > 1 ? " of row " + std::to_string(row) : std::string());
    }
    const std::int64_t x = output % problem.x.outputs, line = output / problem.x.outputs;
    const std::int64_t channels = problem.channels.length;
    std::string where = std::to_string(line % problem.y.outputs) + ", " + std::to_string(x) + ")";
    if (problem.rank == 3) { where = std::to_string(line / problem.y.outputs) + ", " + where; }
    if (channels > 1) { where += " of channel " + std::to_string(row % channels); }
    if (problem.batch.length > 1) { where += " of item " + std::to_string(row / channels); }
    return "output (" + where;
}

inline std::string overflow_text(const Resolved& problem, std::int64_t row, std::int64_t output, const std::string& value) {
    return "overflow: " + place_of_output(problem, row, output) + " is " + value + ", which " + to_string(problem.output_dtype) +
           " cannot hold; ask for a wider output_dtype (f64 holds any size, rounded), a clamp, or Overflow::wrap to keep the low "
           "bits";
}

}  // namespace tapline::core
