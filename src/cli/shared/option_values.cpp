#include "cli/shared/option_values.hpp"

#include <limits>

#include "cli/shared/numbers.hpp"

namespace tapline::cli {

std::optional<Clamp> parse_clamp(const std::string& text) {
    const auto fields = split_commas(text);
    if (fields.size() != 2) return std::nullopt;
    const auto low = parse_number(fields[0]);
    const auto high = parse_number(fields[1]);
    if (!low || !high || *low > *high) return std::nullopt;
    return Clamp{*low, *high};
}

std::optional<std::complex<double>> parse_constant(const std::string& text) {
    const auto fields = split_commas(text);
    if (fields.size() > 2) return std::nullopt;
    double parts[2] = {0, 0};
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i] == "nan") {
            parts[i] = std::numeric_limits<double>::quiet_NaN();
            continue;
        }
        const auto number = parse_number(fields[i]);
        if (!number) return std::nullopt;
        parts[i] = *number;
    }
    return std::complex<double>(parts[0], parts[1]);
}

std::optional<std::int64_t> parse_threads(const std::string& text) {
    const auto count = parse_count(text);
    return count && (*count < 0 || *count > 1024) ? std::nullopt : count;
}

}  // namespace tapline::cli
