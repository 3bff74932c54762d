#include "cli/shared/numbers.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <utility>

namespace tapline::cli {
namespace {

template <class... Arguments>
std::string print(const char* format, Arguments... arguments) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, arguments...);
    return text.data();
}

template <class T>
std::optional<T> parse_whole_text(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::int64_t> checked_product(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}

constexpr std::array<std::pair<std::string_view, std::int64_t>, 8> kSuffixes = {{
    {"ki", std::int64_t{1} << 10},
    {"Ki", std::int64_t{1} << 10},
    {"Mi", std::int64_t{1} << 20},
    {"Gi", std::int64_t{1} << 30},
    {"k", 1000},
    {"K", 1000},
    {"M", 1'000'000},
    {"G", 1'000'000'000},
}};

}  // namespace

std::optional<double> parse_number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto value = parse_whole_text<double>(text);
    return value && std::isnan(*value) ? std::nullopt : value;
}

std::optional<std::int64_t> parse_count(std::string_view text) {
    std::int64_t unit = 1;
    for (const auto& [suffix, size] : kSuffixes) {
        if (text.ends_with(suffix)) {
            unit = size;
            text.remove_suffix(suffix.size());
            break;
        }
    }
    if (const auto caret = text.find('^'); caret != std::string_view::npos) {
        const auto base = parse_whole_text<std::int64_t>(text.substr(0, caret));
        const auto exponent = parse_whole_text<int>(text.substr(caret + 1));
        if (!base || !exponent || *exponent < 0 || *exponent > 63) return std::nullopt;
        std::optional<std::int64_t> value = unit;
        for (int i = 0; i < *exponent && value; ++i) value = checked_product(*value, *base);
        return value;
    }
    if (const auto whole = parse_whole_text<std::int64_t>(text)) return checked_product(*whole, unit);
    const auto number = parse_whole_text<double>(text);
    if (!number) return std::nullopt;
    const double value = *number * static_cast<double>(unit);
    if (!(std::abs(value) <= 0x1p53) || value != std::floor(value)) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> parse_positive(std::string_view text) {
    const auto count = parse_count(text);
    return count && *count >= 1 ? count : std::nullopt;
}

std::optional<double> parse_duration(std::string_view text) {
    const auto value = parse_number(text);
    return value && *value >= 0 && *value <= 3600 ? value : std::nullopt;
}

std::optional<Clamp> parse_clamp(std::string_view text) {
    const auto fields = split_commas(text);
    if (fields.size() != 2) return std::nullopt;
    const auto low = parse_number(fields[0]);
    const auto high = parse_number(fields[1]);
    if (!low || !high || *low > *high) return std::nullopt;
    return Clamp{*low, *high};
}

std::optional<std::complex<double>> parse_constant(std::string_view text) {
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

std::optional<std::int64_t> parse_threads(std::string_view text) {
    const auto count = parse_count(text);
    return count && (*count < 0 || *count > 1024) ? std::nullopt : count;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> fields;
    for (std::size_t start = 0;;) {
        const auto end = text.find(separator, start);
        fields.emplace_back(text.substr(start, end - start));
        if (end == std::string_view::npos) return fields;
        start = end + 1;
    }
}

std::vector<std::string> split_commas(std::string_view text) { return split(text, ','); }

std::optional<std::vector<std::int64_t>> parse_counts(std::string_view text) { return parse_list(text, parse_positive); }

std::string format(const char* format, double value) { return print(format, value); }

std::string utc_now(const char* format) {
    const std::time_t now = std::time(nullptr);
    std::tm fields{};
    gmtime_r(&now, &fields);
    char text[32];
    std::strftime(text, sizeof text, format, &fields);
    return text;
}

std::string format_seconds(double seconds) {
    if (!(seconds >= 0)) return "?";
    if (seconds < 1e-6) return print("%.3g ns", seconds * 1e9);
    if (seconds < 1e-3) return print("%.3g us", seconds * 1e6);
    if (seconds < 1) return print("%.3g ms", seconds * 1e3);
    if (seconds < 120) return print(seconds < 10 ? "%.3g s" : "%.1f s", seconds);
    return print("%.0f min %.0f s", std::floor(seconds / 60), std::fmod(seconds, 60));
}

std::string format_count(std::int64_t count) {
    constexpr std::int64_t kAsPower = std::int64_t{1} << 14;
    if (count >= kAsPower && std::has_single_bit(static_cast<std::uint64_t>(count))) {
        return print("2^%d", std::countr_zero(static_cast<std::uint64_t>(count)));
    }
    std::string digits = std::to_string(count);
    if (digits.size() <= 4) return digits;
    for (auto place = static_cast<std::ptrdiff_t>(digits.size()) - 3; place > (count < 0 ? 1 : 0); place -= 3) {
        digits.insert(static_cast<std::size_t>(place), 1, ' ');
    }
    return digits;
}

std::string format_si(double value) {
    constexpr std::array kPrefixes = {"", " k", " M", " G", " T"};
    std::size_t prefix = 0;
    while (std::abs(value) >= 999.5 && prefix + 1 < kPrefixes.size()) {
        value /= 1000;
        ++prefix;
    }
    return print("%.3g", value) + kPrefixes[prefix];
}

}  // namespace tapline::cli
