// One run of `tapline convolve`, as the command line describes it.
#pragma once

#include "cli/shared/shared_options.hpp"

namespace tapline::cli {

struct ConvolveJob : FilterJob {
    ConvolveJob() : FilterJob{.out = {}, .mode = Mode::full, .boundary = Boundary::zero} {}

    std::string signal;
    std::string taps;
    std::optional<std::int64_t> origin;
    int axis = -1;
    Overflow overflow = Overflow::error;
    std::string from;  ///< format of the signal, "" to find out
    std::optional<Dtype> raw_dtype;
    double rate = 0;
    std::string plot;
};

/// Throws Error, and CLI::ParseError for what only the command line can have got wrong.
void run_convolve(const ConvolveJob& job);

}  // namespace tapline::cli
