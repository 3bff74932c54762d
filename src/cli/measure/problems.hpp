// The problems that bench, ladder and tune measure: packed signals, and packed images with interleaved channels.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/shared/timing.hpp"
#include "tapline/image.hpp"

namespace tapline::cli {

/// The sizes of an image, and of the mask for all its channels.
struct ImageSizes {
    ImageSize size;
    std::int64_t channels = 1;
    ImageSize mask = {3, 3};
};

/// "HxW" or "HxWxC".
std::optional<ImageSizes> parse_image(const std::string& text);
/// "K" (K x K) or "HxW".
std::optional<ImageSize> parse_mask(const std::string& text);

/// --image and --mask, several with commas; `masks_text`: the masks without --mask. Returns --image, which --mask needs.
CLI::Option* add_images(CLI::App& sub, std::vector<ImageSizes>& images, std::vector<ImageSize>& masks,
                        const std::string& masks_text);

/// With sizes and masks; mode same, everything else as by default.
ImageProblem image_problem(const ImageSizes& sizes);

inline bool is_image(const Problem& problem) { return problem.axes.size() == 2; }
/// Of a problem that image_problem() began.
ImageSizes image_sizes(const Problem& problem);

/// Coefficients of one filter.
std::int64_t taps_of(const Problem& problem);

/// "480x640x3", "5x5".
std::string image_text(const ImageSizes& sizes);
std::string mask_text(const ImageSizes& sizes);

/// "16 384 samples with 32 taps", "a 480x640x3 image with a 5x5 mask".
std::string shape_text(const Problem& problem);

/// length and taps; of an image its elements and the mask's, and the sizes of both.
void add_shape(nlohmann::ordered_json& json, const Problem& problem);
/// height, width, channels, mask_height and mask_width.
void add_sizes(nlohmann::ordered_json& json, const ImageSizes& sizes);

/// seconds_median, seconds_min, seconds_max and runs, each with the suffix.
void add_timing(nlohmann::ordered_json& json, const Timing& timing, const std::string& suffix = "");

/// Multiplications and additions of the textbook sum for one execution.
double textbook_flops(const Problem& problem);

/// Bytes of input, taps and output: what has to move at least.
double moved_bytes(const Problem& problem);

}  // namespace tapline::cli
