// Benchmark cases of images: checked, then timed beside the copy of the image, as those of signals.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tapline/image.hpp"

namespace tapline::cli {

struct ImageShape {
    ImageSize size;
    std::int64_t channels = 1;
};

struct ImageBench {
    std::vector<ImageShape> images;
    std::vector<ImageSize> masks;
    bool separable = false;  ///< masks of rank 1
    Mode mode = Mode::same;
    Dtype dtype = Dtype::f32;
    bool complex_taps = false;
    Accuracy accuracy = Accuracy::standard;
    std::string algorithms = "auto";
    int threads = 0;
    double seconds = 1;
    std::string device = "cpu";  ///< or a GPU's name
};

/// "HxW" or "HxWxC", several with commas.
std::optional<std::vector<ImageShape>> parse_images(const std::string& text);

/// "K" (K x K) or "HxW", several with commas.
std::optional<std::vector<ImageSize>> parse_masks(const std::string& text);

/// Calls `report` with the result of each case: the fields of a signal's case and the sizes of image and mask. Throws Error for a
/// wrong result, and CLI::ParseError for names that are no algorithm's.
void bench_images(const ImageBench& bench, const std::function<void(const nlohmann::ordered_json&)>& report);

void print_image_header(std::FILE* to);
void print_image_row(std::FILE* to, const nlohmann::ordered_json& json);

}  // namespace tapline::cli
