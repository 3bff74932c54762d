// One run of `tapline image`, as the command line describes it.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/image/image.hpp"
#include "tapline/image.hpp"

namespace tapline::cli {

/// What happens to a picture's opacity.
enum class Alpha {
    keep,    ///< every output has that of the pixel under the middle of the mask
    filter,  ///< filtered as the colours are
    drop,    ///< left out
};

const char* to_string(Alpha alpha) noexcept;

struct ImageJob {
    std::vector<std::string> inputs;
    std::string out;
    std::string mask;
    Mode mode = Mode::same;
    Boundary boundary = Boundary::reflect;
    std::optional<std::complex<double>> constant;
    std::optional<ImageSize> origin;  ///< its row and column
    bool correlate = false;
    double scale = 1;
    double bias = 0;
    std::optional<Clamp> clamp;
    Alpha alpha = Alpha::keep;
    std::optional<Dtype> dtype;
    std::string to;  ///< format of the outputs, "" for their names'
    std::int64_t quality = 95;
    std::int64_t compression = io::ImageWriteOptions{}.compression;
    Accuracy accuracy = Accuracy::standard;
    std::string device = "auto";
    std::string algorithm;
    std::int64_t threads = 0;
    bool explain = false;
    bool json = false;
    bool quiet = false;
};

/// Throws Error, and CLI::ParseError for what only the command line can have got wrong. Of several images those that can be
/// filtered are, whatever becomes of the others.
void run_image(const ImageJob& job);

}  // namespace tapline::cli
