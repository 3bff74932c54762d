// The texts that stand for filters.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "design/design.hpp"
#include "design/text.hpp"

namespace tapline::design {
namespace {

using Filter = Entry<std::vector<double> (*)(const Numbers& numbers, double rate)>;

std::int64_t whole(const char* what, double value) {
    if (value != std::floor(value) || std::abs(value) > 0x1p53) { fail(std::string(what) + " must be a whole number"); }
    return static_cast<std::int64_t>(value);
}

// A count at `index`, or 0 for "not said". A written 0 is an error and not the default.
std::int64_t count_at(const Numbers& numbers, std::size_t index) {
    if (index >= numbers.size()) return 0;
    const std::int64_t k = whole("the number of taps", numbers[index]);
    if (k < 1) fail("the number of taps must be at least 1");
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
    fail(text.data());
}

std::uint64_t seed_at(const Numbers& numbers, std::size_t index) {
    return index < numbers.size() ? static_cast<std::uint64_t>(whole("the seed", numbers[index])) : 1;
}

constexpr std::array kEntries = {
    Filter{"gaussian", "gaussian:SIGMA", "Gaussian, standard deviation in samples, cut at 4 SIGMA, sum 1", 1, 1,
           [](const Numbers& v, double) { return gaussian(v[0]); }},
    Filter{"box", "box:K", "moving average of K samples", 1, 1,
           [](const Numbers& v, double) { return box(whole("the number of taps", v[0])); }},
    Filter{"lowpass", "lowpass:CUTOFF[,K]", "keeps what is below CUTOFF", 1, 2,
           [](const Numbers& v, double rate) { return lowpass(cutoff_at(v, 0, rate), count_at(v, 1)); }},
    Filter{"highpass", "highpass:CUTOFF[,K]", "keeps what is above CUTOFF", 1, 2,
           [](const Numbers& v, double rate) { return highpass(cutoff_at(v, 0, rate), count_at(v, 1)); }},
    Filter{"bandpass", "bandpass:LO,HI[,K]", "keeps what is between LO and HI", 2, 3,
           [](const Numbers& v, double rate) { return bandpass(cutoff_at(v, 0, rate), cutoff_at(v, 1, rate), count_at(v, 2)); }},
    Filter{"bandstop", "bandstop:LO,HI[,K]", "removes what is between LO and HI", 2, 3,
           [](const Numbers& v, double rate) { return bandstop(cutoff_at(v, 0, rate), cutoff_at(v, 1, rate), count_at(v, 2)); }},
    Filter{"savgol", "savgol:K,ORDER", "Savitzky-Golay smoothing: a polynomial of degree ORDER through K samples", 2, 2,
           [](const Numbers& v, double) { return savgol(whole("the number of taps", v[0]), whole("the order", v[1])); }},
    Filter{"room", "room:SECONDS[,SEED]", "decaying noise, 60 dB down after SECONDS; keeps the level", 1, 2,
           [](const Numbers& v, double rate) { return room(v[0], rate, seed_at(v, 1)); }},
};

const Filter* find_entry(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return nullptr;
    const auto* entry = std::ranges::find(kEntries, text.substr(0, colon), &Filter::name);
    return entry == kEntries.end() ? nullptr : entry;
}

bool starts_like_number(std::string_view field) {
    return !field.empty() && std::string_view("0123456789+-.").find(field.front()) != std::string_view::npos;
}

Design parse_list(std::string_view text) {
    Design design;
    bool integers = true;
    for (const auto field : split(text, ',')) {
        design.taps.push_back(finite_number("taps", text, field));
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
    const auto fields = split(text, ',');
    if (fields.size() == 1) return starts_like_number(text) && parse_all(fields[0], value);
    constexpr std::string_view kListCharacters = "0123456789+-.eE, ";
    return text.find_first_not_of(kListCharacters) == std::string_view::npos;
}

std::string design_advice(std::string_view text) { return advice_of(kEntries, text); }

Design parse(std::string_view text, double sample_rate) {
    const Filter* entry = find_entry(text);
    if (entry == nullptr) return parse_list(text);
    return {made_by(*entry, "taps", text, sample_rate), {}};
}

std::string help() {
    return help_of(kEntries, 22) + "  1,0,-1                 the coefficients themselves; whole numbers stay exact integers\n";
}

}  // namespace tapline::design
