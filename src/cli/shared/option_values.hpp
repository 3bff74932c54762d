// Values of options that several subcommands have.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>

#include "tapline/types.hpp"

namespace tapline::cli {

/// "LO,HI" with LO <= HI.
std::optional<Clamp> parse_clamp(const std::string& text);

/// "C" or "REAL,IMAGINARY"; the constant may be anything, NaN too.
std::optional<std::complex<double>> parse_constant(const std::string& text);

/// A number of CPU threads, 0 to 1024.
std::optional<std::int64_t> parse_threads(const std::string& text);

}  // namespace tapline::cli
