// What a rung says for itself.
#pragma once

#include <stdexcept>
#include <string_view>

namespace tapline::cuda {

/// Of the numbers of a rung that is there for signals, images and volumes the one of so many axes.
constexpr const char* of_rank(int rank, const char* signals, const char* images, const char* volumes) {
    return rank == 1 ? signals : rank == 2 ? images : volumes;
}

/// A rung's number and name, the write-up that it comes from ("C1"; empty: ours), and four texts, each behind its word at the
/// beginning of a line. Lines of a text are joined. A constant in which one of them is missing does not compile.
struct Head {
    constexpr Head(const char* number, const char* name, const char* origin, std::string_view texts)
        : number(number),
          name(name),
          origin(origin),
          idea(between(texts, "\nIdea: ", "\nChanged: ")),
          changed(between(texts, "\nChanged: ", "\nRequires: ")),
          requirements(between(texts, "\nRequires: ", "\nLimited by: ")),
          limited_by(between(texts, "\nLimited by: ", "\n")) {}

    const char* number;
    const char* name;
    const char* origin;
    std::string_view idea, changed, requirements, limited_by;

private:
    /// `next` is looked for from the end on.
    static constexpr std::string_view between(std::string_view texts, std::string_view word, std::string_view next) {
        const std::size_t begin = texts.find(word);
        const std::size_t end = texts.rfind(next);
        if (begin == texts.npos || end == texts.npos || end <= begin) { throw std::invalid_argument("a head lacks a text"); }
        return texts.substr(begin + word.size(), end - begin - word.size());
    }
};

}  // namespace tapline::cuda
