// One run of `tapline convolve`, as the command line describes it.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>

#include "io/format.hpp"
#include "tapline/plan.hpp"

namespace tapline::cli {

struct ConvolveJob {
    std::string signal;
    std::string taps;
    std::string out;
    Mode mode = Mode::full;
    Boundary boundary = Boundary::zero;
    std::optional<std::complex<double>> constant;
    std::optional<std::int64_t> origin;
    bool correlate = false;
    int axis = -1;
    double scale = 1;
    double bias = 0;
    std::optional<Clamp> clamp;
    std::optional<Dtype> dtype;
    Overflow overflow = Overflow::error;
    Accuracy accuracy = Accuracy::standard;
    std::string device = "auto";
    std::string algorithm;
    std::int64_t threads = 0;
    std::string from;  ///< format of the signal, "" to find out
    std::string to;    ///< format of the output, "" for its name's
    std::optional<Dtype> raw_dtype;
    double rate = 0;
    bool explain = false;
    bool json = false;
    bool quiet = false;
    std::string plot;
};

/// Throws Error, and CLI::ParseError for what only the command line can have got wrong.
void run_convolve(const ConvolveJob& job);

}  // namespace tapline::cli
