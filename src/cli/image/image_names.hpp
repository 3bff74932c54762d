// Where the outputs of `tapline image` go.
#pragma once

#include <string>
#include <vector>

#include "cli/image/image_job.hpp"

namespace tapline::cli {

/// One input with the output that it becomes.
struct ImageFiles {
    std::string input;
    std::string output;
};

/// OUT is a folder if it exists as one, ends with a slash or is given for several inputs: outputs then have their inputs' names
/// there, with the extension of --to. Throws CLI::ParseError for what does not fit together.
std::vector<ImageFiles> image_files(const ImageJob& job);

/// Whether outputs go into the folder OUT.
bool into_folder(const ImageJob& job);

/// --to, else what the output's name tells, else (standard output, names without a known extension in a folder) the input's format.
io::ImageFormat output_format(const ImageJob& job, const std::string& output, const io::Image& input);

}  // namespace tapline::cli
