// Charts for a page, as SVG elements. Each is as wide as a telephone, so that its letters stay as large as the page's.
#pragma once

#include <string>
#include <vector>

namespace tapline::cli {

struct Bar {
    std::string label;
    double value = 0;  ///< positive
    std::string text;  ///< the value in words, at the bar's end of the line
    bool strong = false;
};

/// Horizontal bars on a logarithmic scale, each below its label. `mark`: a value that a vertical line shows; 0: none.
std::string bars_svg(const std::string& title, const std::vector<Bar>& bars, double mark, const std::string& mark_label);

struct Curve {
    std::string label;
    std::vector<std::pair<double, double>> points;
    bool dashed = false;
};

/// Curves over a logarithmic axis of powers of two, with the legend below. `percent`: y is a share and starts at 0; else
/// y is logarithmic.
std::string curves_svg(const std::string& title, const std::string& x_label, const std::vector<Curve>& curves, bool percent);

}  // namespace tapline::cli
