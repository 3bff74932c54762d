// tapline image: the command line.
#include <memory>

#include "cli/commands.hpp"
#include "cli/image/image_job.hpp"
#include "cli/shared/numbers.hpp"
#include "cli/shared/shared_options.hpp"
#include "design/mask.hpp"

namespace tapline::cli {
namespace {

// "Y,X", or one number for both.
std::optional<ImageSize> parse_origin(const std::string& text) {
    const auto fields = split_commas(text);
    const auto y = parse_count(fields.front());
    const auto x = parse_count(fields.back());
    if (fields.size() > 2 || !y || !x) { return std::nullopt; }
    return ImageSize{*y, *x};
}

std::optional<Alpha> parse_alpha(const std::string& text) {
    for (const Alpha alpha : {Alpha::keep, Alpha::filter, Alpha::drop}) {
        if (text == to_string(alpha)) { return alpha; }
    }
    return std::nullopt;
}

auto between(std::int64_t least, std::int64_t most) {
    return [least, most](const std::string& text) {
        const auto count = parse_count(text);
        return count && (*count < least || *count > most) ? std::nullopt : count;
    };
}

std::string footer() {
    return "IN is a PNG (1 to 16 bits, grey, RGB or palette, with or without alpha), a JPEG (grey or RGB) or a NumPy array\n"
           "(height, width) or (height, width, channels); its content tells, not its name. OUT's name tells its format.\n"
           "With several images, or if it ends with / or is a folder, OUT is a folder, where they keep their names. Colour\n"
           "profile, resolution and Exif data are kept where the format can. An output appears only when it is complete: a\n"
           "run that fails or is interrupted leaves an old file as it was.\n"
           "\n"
           "MASK is a .npy array (height, width), or (channels, height, width) with one mask a channel; or it is written:\n" +
           design::mask_help() +
           "  A text of this kind is never taken for a file; write ./NAME for a file that is named like one.\n"
           "\n"
           "output[y][x] = clamp(SCALE * sum over i, j of mask[i][j] * image[y + i - ORIGIN_Y][x + j - ORIGIN_X] + BIAS), the\n"
           "mask turned by 180 degrees unless --correlate, every channel on its own. Modes and boundaries mean on both\n"
           "axes what they mean for `tapline convolve`.\n"
           "\n"
           "Pixels of 8 and 16 bits are computed with f32 sums, rounded and saturated. Results below 0 are cut off: take\n"
           "--bias 128, or --dtype f32 and .npy. --dtype casts values, it does not rescale them: 16 to 8 bits needs\n"
           "--scale 0.0038910506 (1/257). JPEG pixels are filtered as they are stored, before any Exif rotation.\n"
           "\n"
           "Examples:\n"
           "  tapline image photo.jpg -o soft.jpg --mask gaussian:2\n"
           "  tapline image scan.png -o edges.png --mask sobel-x --bias 128 --scale 0.5\n"
           "  tapline image holiday/*.jpg -o sharper/ --mask sharpen\n"
           "  tapline image field.npy -o smooth.npy --mask psf.npy --boundary wrap --dtype f64";
}

void add_filtering(CLI::App& sub, ImageJob& job) {
    begin_group(sub, "Filtering");
    sub.add_option("--mask", job.mask, "The mask: a .npy file, or a text such as gaussian:2 (see below)")
        ->required()
        ->type_name("MASK");
    add_rules(sub, job);
    add_parsed(sub, "--origin", "Y,X", job.origin, parse_origin, "a whole number, or Y,X",
               "Which tap sits on the output's position, after any turning [the mode's]");
    sub.add_flag("--correlate", job.correlate, "Correlate: the mask is not turned, complex taps conjugated");
    add_epilogue(sub, job);
    add_parsed(sub, "--alpha", "WHAT", job.alpha, parse_alpha, "one of keep, filter, drop",
               "Opacity: keep it, filter it like colours, or drop it [keep]");
}

void add_files(CLI::App& sub, ImageJob& job) {
    begin_group(sub, "Types and formats");
    add_dtype(sub, "--dtype", job.dtype, "Element type of the output [the image's]");
    sub.add_option("--to", job.to, "Format of the outputs: png, jpg or npy [their names']")->type_name("FORMAT");
    add_parsed(sub, "--quality", "Q", job.quality, between(1, 100), "a number from 1 to 100", "Of JPEG, 1 to 100 [95]");
    add_parsed(sub, "--compression", "N", job.compression, between(0, 9), "a number from 0 to 9",
               "Of PNG, 0 (fast) to 9 (small) [" + std::to_string(job.compression) + "]");
}

}  // namespace

void add_image(CLI::App& app) {
    auto* sub = app.add_subcommand("image", "Convolve images with a mask, file to file");
    auto job = std::make_shared<ImageJob>();
    sub->add_option("IN", job->inputs, "The images' files, - for standard input")->required()->type_name("");
    sub->add_option("-o,--output", job->out, "The output's file or folder, - for standard output")->required()->type_name("OUT");
    add_filtering(*sub, *job);
    add_files(*sub, *job);
    add_computing(*sub, *job, "tapline bench --image 64x64 --algorithms all");
    add_reports(*sub, *job, "No progress line");
    sub->footer(footer());
    run_when_named(*sub, job, run_image);
}

}  // namespace tapline::cli
