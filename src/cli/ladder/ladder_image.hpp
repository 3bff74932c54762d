// tapline ladder --image: every rung for images on one problem, checked, then timed beside the copy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tapline/image.hpp"

namespace tapline::cli {

struct ImageLadderOptions {
    std::string device = "auto";
    ImageProblem problem;           ///< f32; sizes, channels, mask and boundary
    bool separable = false;         ///< a mask that is a column times a row
    std::vector<std::string> only;  ///< numbers, names or the write-up's names; empty: all
    std::string json;               ///< a file, "-" for standard output, empty: none
    double seconds = 0.2;           ///< of one measurement
};

/// "4096x4096", "1080x1920x3": two or three positive numbers; "7": 7x7 where `square`.
std::optional<std::vector<std::int64_t>> parse_image_size(const std::string& text, bool square);

/// Prints the table; throws Error for the first rung that is wrong, after everything has been shown.
void climb_image_ladder(const ImageLadderOptions& options);

}  // namespace tapline::cli
