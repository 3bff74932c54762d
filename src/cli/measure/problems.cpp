#include "cli/measure/problems.hpp"

#include "cli/commands.hpp"
#include "cli/shared/numbers.hpp"

namespace tapline::cli {
namespace {

// "3x4x5" as positive numbers; empty if it is no such text.
std::vector<std::int64_t> parse_sides(const std::string& text) {
    return parse_list(text, parse_positive, 'x').value_or(std::vector<std::int64_t>{});
}

std::string text_of(const ImageSize& size) { return std::to_string(size.height) + "x" + std::to_string(size.width); }

}  // namespace

std::optional<ImageSizes> parse_image(const std::string& text) {
    const auto sides = parse_sides(text);
    if (sides.size() < 2 || sides.size() > 3) { return std::nullopt; }
    return ImageSizes{.size = {sides[0], sides[1]}, .channels = sides.size() == 3 ? sides[2] : 1};
}

std::optional<ImageSize> parse_mask(const std::string& text) {
    const auto sides = parse_sides(text);
    if (sides.empty() || sides.size() > 2) { return std::nullopt; }
    return ImageSize{sides.front(), sides.back()};
}

CLI::Option* add_images(CLI::App& sub, std::vector<ImageSizes>& images, std::vector<ImageSize>& masks,
                        const std::string& masks_text) {
    auto* image = add_parsed(
        sub, "--image", "HxW[xC]", images, [](const std::string& text) { return parse_list(text, parse_image); },
        "sizes such as 2048x2048 or 1080x1920x3", "Images instead of signals: height x width [x channels], several with commas");
    add_parsed(
        sub, "--mask", "K[xK]", masks, [](const std::string& text) { return parse_list(text, parse_mask); },
        "sizes such as 3 or 5x7", "Masks of images, several with commas " + masks_text)
        ->needs(image);
    return image;
}

ImageProblem image_problem(const ImageSizes& sizes) {
    return {.height = sizes.size.height,
            .width = sizes.size.width,
            .channels = sizes.channels,
            .mask_height = sizes.mask.height,
            .mask_width = sizes.mask.width};
}

ImageSizes image_sizes(const Problem& problem) {
    const FilteredAxis& y = problem.axes[0];
    const FilteredAxis& x = problem.axes[1];
    return {.size = {y.length, x.length}, .channels = problem.batch_axes[1].length, .mask = {y.taps, x.taps}};
}

std::int64_t taps_of(const Problem& problem) {
    return is_image(problem) ? problem.axes[0].taps * problem.axes[1].taps : problem.taps;
}

std::string shape_text(const Problem& problem) {
    if (!is_image(problem)) { return format_count(problem.length) + " samples with " + format_count(problem.taps) + " taps"; }
    const ImageSizes sizes = image_sizes(problem);
    return "a " + image_text(sizes) + " image with a " + mask_text(sizes) + " mask";
}

std::string image_text(const ImageSizes& sizes) {
    return text_of(sizes.size) + (sizes.channels > 1 ? "x" + std::to_string(sizes.channels) : "");
}

std::string mask_text(const ImageSizes& sizes) { return text_of(sizes.mask); }

void add_sizes(nlohmann::ordered_json& json, const ImageSizes& sizes) {
    json["height"] = sizes.size.height;
    json["width"] = sizes.size.width;
    json["channels"] = sizes.channels;
    json["mask_height"] = sizes.mask.height;
    json["mask_width"] = sizes.mask.width;
}

void add_shape(nlohmann::ordered_json& json, const Problem& problem) {
    json["length"] = is_image(problem) ? input_extent(problem) : problem.length;
    json["taps"] = taps_of(problem);
    if (is_image(problem)) { add_sizes(json, image_sizes(problem)); }
}

void add_timing(nlohmann::ordered_json& json, const Timing& timing, const std::string& suffix) {
    json["seconds_median" + suffix] = timing.median;
    json["seconds_min" + suffix] = timing.least;
    json["seconds_max" + suffix] = timing.most;
    json["runs" + suffix] = timing.runs;
}

double textbook_flops(const Problem& problem) {
    const double products = static_cast<double>(taps_of(problem)) * static_cast<double>(output_extent(problem));
    const double components = is_complex(problem.dtype) ? (problem.complex_taps ? 4 : 2) : 1;
    return 2 * products * components;
}

double moved_bytes(const Problem& problem) {
    const auto elements = static_cast<double>(input_extent(problem)) + static_cast<double>(taps_extent(problem)) +
                          static_cast<double>(output_extent(problem));
    return static_cast<double>(size_of(problem.dtype)) * elements;
}

}  // namespace tapline::cli
