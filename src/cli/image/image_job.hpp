// One run of `tapline image`, as the command line describes it.
#pragma once

#include "cli/shared/shared_options.hpp"
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

struct ImageJob : FilterJob {
    ImageJob() : FilterJob{.out = {}, .mode = Mode::same, .boundary = Boundary::reflect} {}

    std::vector<std::string> inputs;
    std::string mask;
    std::optional<ImageSize> origin;  ///< its row and column
    Alpha alpha = Alpha::keep;
    std::int64_t quality = 95;
    std::int64_t compression = io::ImageWriteOptions{}.compression;
};

/// Throws Error, and CLI::ParseError for what only the command line can have got wrong. Of several images those that can be
/// filtered are, whatever becomes of the others.
void run_image(const ImageJob& job);

}  // namespace tapline::cli
