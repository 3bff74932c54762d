// Numbers as people write and read them.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapline/types.hpp"

namespace tapline::cli {

/// A finite or infinite number; nothing for NaN and other texts.
std::optional<double> parse_number(std::string_view text);

/// A whole number: "1000", "1e6", "2^24", "64k" (1000), "16M", "16Mi" (2^24). Nothing if it is not one or not in 64 bits.
std::optional<std::int64_t> parse_count(std::string_view text);

/// A count that is at least 1.
std::optional<std::int64_t> parse_positive(std::string_view text);

/// A number of seconds, 0 to 3600.
std::optional<double> parse_duration(std::string_view text);

/// A number of CPU threads, 0 to 1024.
std::optional<std::int64_t> parse_threads(std::string_view text);

/// "LO,HI" with LO <= HI.
std::optional<Clamp> parse_clamp(std::string_view text);

/// "C" or "REAL,IMAGINARY"; the constant may be anything, NaN too.
std::optional<std::complex<double>> parse_constant(std::string_view text);

/// "A,B,C": at least one field, which may be empty.
std::vector<std::string> split_commas(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);

/// "A,B,C" with what `parse` makes of each; nothing if one is nothing.
template <class Parse>
auto parse_list(std::string_view text, Parse parse, char separator = ',') {
    std::optional all(std::vector<typename decltype(parse(std::string()))::value_type>{});
    for (const std::string& field : split(text, separator)) {
        const auto value = parse(field);
        if (!value) { return decltype(all)(); }
        all->push_back(*value);
    }
    return all;
}

/// Counts that are at least 1.
std::optional<std::vector<std::int64_t>> parse_counts(std::string_view text);

/// One number as std::printf has it.
std::string format(const char* format, double value);

/// The time in UTC as std::strftime has it.
std::string utc_now(const char* format);

/// "1.23 ms", "2 min 5 s".
std::string format_seconds(double seconds);

/// Powers of two from 2^14 on as such, else digits in groups: "2^24", "1 500 000".
std::string format_count(std::int64_t count);

/// Three significant digits with an SI prefix: "28.8 M".
std::string format_si(double value);

}  // namespace tapline::cli
