#include "cuda/rung.hpp"

#include <sstream>

namespace tapline::cuda {
namespace {

// Its words, a space between them.
std::string on_one_line(std::string_view text) {
    std::istringstream words{std::string(text)};
    std::string line;
    for (std::string word; words >> word;) { line += (line.empty() ? "" : " ") + word; }
    return line;
}

}  // namespace

Rung::Rung(const Head& head, const RungInfo& facts)
    : texts_{on_one_line(head.idea), on_one_line(head.changed), on_one_line(head.requirements), on_one_line(head.limited_by),
             facts.source},
      info_(facts) {
    info_.number = head.number;
    info_.name = head.name;
    info_.origin = head.origin;
    info_.idea = texts_[0].c_str();
    info_.changed = texts_[1].c_str();
    info_.requirements = texts_[2].c_str();
    info_.limited_by = texts_[3].c_str();
    info_.source = texts_[4].c_str();
}

}  // namespace tapline::cuda
