#include "cli/image/image_names.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/commands.hpp"

namespace tapline::cli {
namespace {

namespace fs = std::filesystem;

std::string name_in_folder(const ImageJob& job, const std::string& input) {
    fs::path name = fs::path(input).filename();
    if (name.empty() || name == "." || name == "..") { throw usage_error("'" + input + "' names a folder, not an image"); }
    if (!job.to.empty()) { name.replace_extension("." + job.to); }
    return (fs::path(job.out) / name).string();
}

}  // namespace

bool into_folder(const ImageJob& job) {
    std::error_code ignored;
    return job.inputs.size() > 1 || (!job.out.empty() && job.out.back() == '/') || fs::is_directory(job.out, ignored);
}

std::vector<ImageFiles> image_files(const ImageJob& job) {
    if (!into_folder(job)) { return {{job.inputs.front(), job.out}}; }
    std::error_code ignored;
    if (job.out == "-") { throw usage_error("several images cannot go to standard output; name a folder"); }
    if (fs::exists(job.out, ignored) && !fs::is_directory(job.out, ignored)) {
        throw usage_error("'" + job.out + "' is a file; several images need a folder");
    }
    if (std::ranges::find(job.inputs, "-") != job.inputs.end()) {
        throw usage_error("standard input has no name for an output in a folder; name the output's file");
    }
    std::vector<ImageFiles> files;
    std::set<std::string> taken;
    for (const std::string& input : job.inputs) {
        files.push_back({input, name_in_folder(job, input)});
        if (!taken.insert(files.back().output).second) {
            throw usage_error("two images would both become '" + files.back().output + "'; filter them into different folders");
        }
    }
    return files;
}

io::ImageFormat output_format(const ImageJob& job, const std::string& output, const io::Image& input) {
    if (!job.to.empty()) { return *io::image_format_of_name("." + job.to); }
    if (const auto format = io::image_format_of_name(output)) { return *format; }
    if (output == "-" || into_folder(job)) { return input.format; }
    throw Error(ErrorCode::argument, "the output's name '" + output + "' does not tell a format; use .png, .jpg or .npy, or --to");
}

}  // namespace tapline::cli
