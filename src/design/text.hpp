// What the texts that stand for filters and those that stand for masks have in common.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tapline/error.hpp"

namespace tapline::design {

using Numbers = std::vector<double>;

[[noreturn]] inline void fail(const std::string& message) { throw Error(ErrorCode::argument, message); }

/// A design with a name, as "lowpass" of "lowpass:3000".
template <class Make>
struct Entry {
    std::string_view name;
    std::string_view usage;
    std::string_view meaning;
    std::size_t least;  ///< numbers after the colon; 0: none and no colon
    std::size_t most;
    Make make;
};

/// What lies between the separators, without spaces around it.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> fields;
    for (std::size_t start = 0;;) {
        const auto end = text.find(separator, start);
        std::string_view field = text.substr(start, end - start);
        while (!field.empty() && field.front() == ' ') { field.remove_prefix(1); }
        while (!field.empty() && field.back() == ' ') { field.remove_suffix(1); }
        fields.push_back(field);
        if (end == std::string_view::npos) { return fields; }
        start = end + 1;
    }
}

/// Whether all of the field is a number.
template <class T>
bool parse_all(std::string_view field, T& value) {
    if (field.starts_with('+')) { field.remove_prefix(1); }
    if (field.empty() || field.front() == '+') { return false; }
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    return error == std::errc{} && end == field.data() + field.size();
}

/// Throws Error (argument) that quotes the text, of `kind` "taps" or "mask".
inline double finite_number(const char* kind, std::string_view text, std::string_view field) {
    double value = 0;
    if (parse_all(field, value) && std::isfinite(value)) { return value; }
    fail(std::string(kind) + " '" + std::string(text) + "': '" + std::string(field) + "' is not a finite number");
}

/// What the entry makes of the numbers in the text, and of `more`. Throws Error that quotes the text.
template <class Make, class... More>
auto made_by(const Entry<Make>& entry, const char* kind, std::string_view text, const More&... more) {
    Numbers numbers;
    if (entry.most > 0) {
        for (const auto field : split(text.substr(entry.name.size() + 1), ',')) {
            numbers.push_back(finite_number(kind, text, field));
        }
    }
    try {
        if (numbers.size() < entry.least || numbers.size() > entry.most) { fail("wrong number of values"); }
        return entry.make(numbers, more...);
    } catch (const Error& error) {
        throw Error(error.code(),
                    std::string(kind) + " '" + std::string(text) + "' (" + std::string(entry.usage) + "): " + error.what());
    }
}

/// A line for each entry, usages in a column of `width`.
template <class Entries>
std::string help_of(const Entries& entries, std::size_t width) {
    std::string text;
    for (const auto& entry : entries) {
        std::string usage(entry.usage);
        usage.resize(std::max(usage.size(), width), ' ');
        text += "  " + usage + " " + std::string(entry.meaning) + "\n";
    }
    return text;
}

/// How many letters must be changed, added or left out to make one word of the other.
inline std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) { row[j] = j; }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];  // of the row above
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

/// The name that was probably meant: one wrong letter, two in a name of at least five. Empty if there is none.
template <class Names>
std::string_view near_name(const Names& names, std::string_view word) {
    std::string_view best;
    std::size_t least = 3;
    for (const std::string_view name : names) {
        const std::size_t wrong = distance(name, word);
        if (wrong < least && wrong <= (name.size() < 5 ? std::size_t{1} : std::size_t{2})) {
            best = name;
            least = wrong;
        }
    }
    return best;
}

/// What to say of a text that names neither a file nor an entry ("lowpas:4000"). Empty if the text does not look like a name.
template <class Entries>
std::string advice_of(const Entries& entries, std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view word = text.substr(0, colon);
    std::vector<std::string_view> names;
    names.reserve(std::size(entries));
    for (const auto& entry : entries) { names.push_back(entry.name); }
    const std::string_view meant = near_name(names, word);
    const std::string quoted = "'" + std::string(text) + "' is neither a file nor a filter; ";
    for (const auto& entry : entries) {
        if (entry.name != meant) { continue; }
        const bool has_numbers = colon != std::string_view::npos;
        if (meant == word) { return quoted + "its form is " + std::string(entry.usage); }
        const std::string numbers = has_numbers && entry.most > 0 ? std::string(text.substr(colon)) : std::string{};
        return quoted + "did you mean " + std::string(meant) + numbers + "? (" + std::string(entry.usage) + ")";
    }
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz-";
    if (colon == std::string_view::npos || word.empty() || word.find_first_not_of(kLetters) != std::string_view::npos) {
        return {};
    }
    std::string known;
    for (const std::string_view name : names) { known += (known.empty() ? "" : ", ") + std::string(name); }
    return quoted + "filters are " + known;
}

}  // namespace tapline::design
