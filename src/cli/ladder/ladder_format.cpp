#include "cli/ladder/ladder_format.hpp"

#include <algorithm>

#include "cli/measure/problems.hpp"
#include "cli/shared/numbers.hpp"

namespace tapline::cli {
namespace {

std::string grouped(double value) {
    std::string digits = format("%.0f", value);
    for (auto place = static_cast<std::ptrdiff_t>(digits.size()) - 3; place > 0; place -= 3) {
        digits.insert(static_cast<std::size_t>(place), 1, ',');
    }
    return digits;
}

// Three significant digits, whole numbers in full.
std::string three_digits(double value) {
    if (value >= 99.95) return grouped(value);
    if (value >= 9.995) return format("%.1f", value);
    if (value >= 0.0995) return format("%.2f", value);
    return format("%.2g", value);
}

}  // namespace

std::string format_times(double factor) { return factor > 0 ? three_digits(factor) + "x" : ""; }

std::string format_share(double fraction) {
    const double percent = 100 * fraction;
    return (percent >= 999.5 ? grouped(percent) : percent >= 0.995 ? format("%.1f", percent) : format("%.2g", percent)) + "%";
}

std::string format_giga(double value) { return three_digits(value * 1e-9); }

std::string format_error(double error) { return format("%.1e", error); }

std::string format_problem(const LadderCase& contest) {
    const Problem& problem = contest.problem;
    std::string text;
    if (is_image(problem)) {
        text = image_text(image_sizes(problem)) + " " + to_string(problem.dtype) + ", mask " + mask_text(image_sizes(problem)) +
               (contest.separable ? ", separable" : "") + ", " + to_string(problem.boundary) + " boundary";
    } else {
        text = "n = " + format_count(problem.length) + ", k = " + format_count(problem.taps);
    }
    text += std::string(", mode ") + to_string(problem.mode) + ", " + to_string(problem.operation);
    if (problem.clamp) { text += format(", clamp %g", problem.clamp->low) + format("..%g", problem.clamp->high); }
    return text;
}

std::vector<std::string> compared(const LadderRow& row) {
    return {format_times(row.times_naive),   format_times(row.times_previous), format_giga(row.bytes_per_second),
            format_share(row.copy_fraction), format_giga(row.flops),           format_error(row.error)};
}

std::string copy_label(const LadderTable& table) {
    return is_image(table.contest.problem) ? "copy of the image" : "copy of the signal";
}

std::vector<SkippedGroup> group_skipped(const std::vector<Skipped>& skipped) {
    std::vector<SkippedGroup> groups;
    for (const auto& one : skipped) {
        const std::string label = one.lesson.label() + (one.lesson.origin.empty() ? "" : " (" + one.lesson.origin + ")");
        const auto same = std::ranges::find(groups, one.reason, &SkippedGroup::reason);
        if (same == groups.end()) {
            groups.push_back({label, one.reason});
        } else {
            same->labels += ", " + label;
        }
    }
    return groups;
}

std::vector<Lesson> lessons_of(const LadderRun& run) {
    std::vector<Lesson> lessons;
    const auto add = [&](const Lesson& lesson) {
        const bool known = std::ranges::any_of(lessons, [&](const Lesson& other) { return other.label() == lesson.label(); });
        if (!known && !lesson.idea.empty()) lessons.push_back(lesson);
    };
    for (const auto& table : run.tables) {
        for (const auto& row : table.rows) add(row.lesson);
        for (const auto& skipped : table.skipped) add(skipped.lesson);
    }
    // Rungs number themselves in reading order; what has no number comes last.
    std::ranges::stable_sort(lessons, [](const Lesson& a, const Lesson& b) {
        if (a.number.empty() || b.number.empty()) return !a.number.empty() && b.number.empty();
        return a.number < b.number;
    });
    return lessons;
}

}  // namespace tapline::cli
