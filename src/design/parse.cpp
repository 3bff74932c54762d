// The texts that stand for filters.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "design/design.hpp"

namespace tapline::design {
namespace {

using Numbers = std::vector<double>;

struct Entry {
    std::string_view name;
    std::string_view usage;
    std::string_view meaning;
    std::size_t least;
    std::size_t most;
    std::vector<double> (*make)(const Numbers& numbers, double rate);
};

std::int64_t whole(const char* what, double value) {
    if (value != std::floor(value) || std::abs(value) > 0x1p53) {
        throw Error(ErrorCode::argument, std::string(what) + " must be a whole number");
    }
    return static_cast<std::int64_t>(value);
}

// A count at `index`, or 0 for "not said". A written 0 is an error and not the default.
std::int64_t count_at(const Numbers& numbers, std::size_t index) {
    if (index >= numbers.size()) return 0;
    const std::int64_t k = whole("the number of taps", numbers[index]);
    if (k < 1) throw Error(ErrorCode::argument, "the number of taps must be at least 1");
    return k;
}

// Hz to a fraction of the sampling rate, where there is one.
double cutoff_at(const Numbers& numbers, std::size_t index, double rate) {
    const double value = numbers[index];
    const double cutoff = rate > 0 ? value / rate : value;
    if (cutoff > 0 && cutoff < 0.5) return cutoff;
    std::array<char, 160> text{};
    if (rate > 0) {
        std::snprintf(text.data(), text.size(), "a cutoff of %g Hz; it must lie between 0 and %g Hz, half the sampling rate", value,
                      rate / 2);
    } else {
        std::snprintf(text.data(), text.size(),
                      "a cutoff of %g; the signal has no sample rate, so cutoffs are fractions of it between 0 and 0.5 (or say "
                      "--rate HZ)",
                      value);
    }
    throw Error(ErrorCode::argument, text.data());
}

std::uint64_t seed_at(const Numbers& numbers, std::size_t index) {
    return index < numbers.size() ? static_cast<std::uint64_t>(whole("the seed", numbers[index])) : 1;
}

constexpr std::array kEntries = {
    Entry{"gaussian", "gaussian:SIGMA", "Gaussian, standard deviation in samples, cut at 4 SIGMA, sum 1", 1, 1,
          [](const Numbers& v, double) { return gaussian(v[0]); }},
    Entry{"box", "box:K", "moving average of K samples", 1, 1,
          [](const Numbers& v, double) { return box(whole("the number of taps", v[0])); }},
    Entry{"lowpass", "lowpass:CUTOFF[,K]", "keeps what is below CUTOFF", 1, 2,
          [](const Numbers& v, double rate) { return lowpass(cutoff_at(v, 0, rate), count_at(v, 1)); }},
    Entry{"highpass", "highpass:CUTOFF[,K]", "keeps what is above CUTOFF", 1, 2,
          [](const Numbers& v, double rate) { return highpass(cutoff_at(v, 0, rate), count_at(v, 1)); }},
    Entry{"bandpass", "bandpass:LO,HI[,K]", "keeps what is between LO and HI", 2, 3,
          [](const Numbers& v, double rate) { return bandpass(cutoff_at(v, 0, rate), cutoff_at(v, 1, rate), count_at(v, 2)); }},
    Entry{"bandstop", "bandstop:LO,HI[,K]", "removes what is between LO and HI", 2, 3,
          [](const Numbers& v, double rate) { return bandstop(cutoff_at(v, 0, rate), cutoff_at(v, 1, rate), count_at(v, 2)); }},
    Entry{"savgol", "savgol:K,ORDER", "Savitzky-Golay smoothing: a polynomial of degree ORDER through K samples", 2, 2,
          [](const Numbers& v, double) { return savgol(whole("the number of taps", v[0]), whole("the order", v[1])); }},
    Entry{"room", "room:SECONDS[,SEED]", "decaying noise, 60 dB down after SECONDS; keeps the level", 1, 2,
          [](const Numbers& v, double rate) { return room(v[0], rate, seed_at(v, 1)); }},
};

const Entry* find_entry(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return nullptr;
    const auto* entry = std::ranges::find(kEntries, text.substr(0, colon), &Entry::name);
    return entry == kEntries.end() ? nullptr : entry;
}

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> fields;
    for (std::size_t start = 0;;) {
        const auto comma = text.find(',', start);
        std::string_view field = text.substr(start, comma - start);
        while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
        while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
        fields.push_back(field);
        if (comma == std::string_view::npos) return fields;
        start = comma + 1;
    }
}

template <class T>
bool parse_all(std::string_view field, T& value) {
    if (field.starts_with('+')) field.remove_prefix(1);
    if (field.empty() || field.front() == '+') return false;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    return error == std::errc{} && end == field.data() + field.size();
}

double number(std::string_view text, std::string_view field) {
    double value = 0;
    if (!parse_all(field, value) || !std::isfinite(value)) {
        throw Error(ErrorCode::argument, "taps '" + std::string(text) + "': '" + std::string(field) + "' is not a finite number");
    }
    return value;
}

bool starts_like_number(std::string_view field) {
    return !field.empty() && std::string_view("0123456789+-.").find(field.front()) != std::string_view::npos;
}

Design parse_list(std::string_view text) {
    Design design;
    bool integers = true;
    for (const auto field : split(text)) {
        design.taps.push_back(number(text, field));
        std::int64_t integer = 0;
        integers = integers && parse_all(field, integer);
        if (integers) design.integers.push_back(integer);
    }
    if (!integers) design.integers.clear();
    return design;
}

}  // namespace

bool is_design(std::string_view text) {
    if (find_entry(text) != nullptr) return true;
    double value = 0;
    const auto fields = split(text);
    if (fields.size() == 1) return starts_like_number(text) && parse_all(fields[0], value);
    constexpr std::string_view kListCharacters = "0123456789+-.eE, ";
    return text.find_first_not_of(kListCharacters) == std::string_view::npos;
}

Design parse(std::string_view text, double sample_rate) {
    const Entry* entry = find_entry(text);
    if (entry == nullptr) return parse_list(text);
    Numbers numbers;
    for (const auto field : split(text.substr(entry->name.size() + 1))) numbers.push_back(number(text, field));
    try {
        if (numbers.size() < entry->least || numbers.size() > entry->most) {
            throw Error(ErrorCode::argument, "wrong number of values");
        }
        return {entry->make(numbers, sample_rate), {}};
    } catch (const Error& error) {
        throw Error(error.code(), "taps '" + std::string(text) + "' (" + std::string(entry->usage) + "): " + error.what());
    }
}

std::string help() {
    std::string text;
    for (const auto& entry : kEntries) {
        std::string usage(entry.usage);
        usage.resize(std::max<std::size_t>(usage.size(), 22), ' ');
        text += "  " + usage + " " + std::string(entry.meaning) + "\n";
    }
    text += "  1,0,-1                 the coefficients themselves; whole numbers stay exact integers\n";
    return text;
}

}  // namespace tapline::design
