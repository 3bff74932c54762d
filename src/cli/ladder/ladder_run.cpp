#include "cli/ladder/ladder_run.hpp"

#include <algorithm>

#include "cli/measure/problems.hpp"
#include "cli/shared/numbers.hpp"
#include "tapline/error.hpp"

namespace tapline::cli {
namespace {

// A rung that is expected to take longer than this for one run is left out unless --only names it: it would be run at
// least five times.
constexpr double kLongestRunSeconds = 5;

bool is_named(const ClimbOptions& options, const Lesson& lesson) {
    return std::ranges::any_of(options.only, [&](const std::string& name) {
        return name == lesson.number || name == lesson.name || (!name.empty() && name == lesson.origin);
    });
}

bool is_wanted(const ClimbOptions& options, const Lesson& lesson) { return options.only.empty() || is_named(options, lesson); }

/// A table being made: the data of its problem on the device and what is right for it.
struct Climb {
    const LadderEngine& engine;
    const LadderCase& contest;
    const ClimbOptions& options;
    const ReferenceBlocks& expected;
    LadderSite& site;
    bool warm = true;  ///< measure with a warm cache too
};

std::string check_known_answers(const Climb& climb, int rung) {
    for (const auto& known : climb.contest.known) {
        const Problem problem = problem_of(known, climb.contest.problem);
        const CaseData data = data_of(known);
        const auto site = climb.engine.site(problem, data);
        if (!site->refusal(rung).empty()) continue;
        site->prepare(rung);
        if (auto wrong = check_known(known, site->run()); !wrong.empty()) return wrong;
    }
    return {};
}

/// Checks what the site has prepared and, if it is right, times it.
void check_and_time(const Climb& climb, LadderRow& row) {
    CheckResult result;
    row.failure = check_output(climb.expected, climb.site.run(), result);
    row.error = result.error;
    row.tolerance = result.tolerance;
    if (!row.failure.empty()) return;
    const double seconds = climb.options.seconds;
    row.time = climb.site.measure(climb.engine.measures_cold(), seconds);
    if (climb.engine.measures_cold() && climb.warm) row.warm = climb.site.measure(false, seconds);
}

LadderRow climb_rung(const Climb& climb, int rung) {
    LadderRow row;
    row.lesson = climb.engine.rungs()[static_cast<std::size_t>(rung)];
    try {
        row.failure = check_known_answers(climb, rung);
        if (!row.failure.empty()) return row;
        row.predicted = climb.site.estimate_seconds(rung);
        climb.site.prepare(rung);
        row.detail = climb.site.describe();
        check_and_time(climb, row);
    } catch (const Error& error) {  // one rung's failure does not hide the others
        row.failure = error.what();
        row.verdict = "FAILED";
    }
    return row;
}

/// Every size of the rungs that have a choice is measured for its share of tune_seconds; the fastest is kept.
void add_autotuned(const Climb& climb, LadderTable& table, const LadderProgress& progress) {
    LadderRow row;
    row.kind = RowKind::autotuned;
    row.lesson = {.number = "",
                  .name = kAutotuned,
                  .origin = "C6",
                  .idea = "A search measures every size that the rungs with a choice may be launched with, and keeps the best.",
                  .changed = "Measured on this device for this problem instead of chosen by a rule.",
                  .requirements = "A rung with more than one policy; time for the search.",
                  .limited_by = "The best kernel in the search, and the noise of the measurements that rank them.",
                  .source = "src/cuda/tuning"};
    if (!is_wanted(climb.options, row.lesson)) return;
    try {
        const auto found = climb.site.search(climb.expected, climb.options.tune_seconds, progress);
        if (!found) return;
        row.detail = found->detail;
        row.failure = found->failure;
        if (row.failure.empty()) check_and_time(climb, row);
    } catch (const Error& error) {
        row.failure = error.what();
        row.verdict = "FAILED";
    }
    table.rows.push_back(std::move(row));
}

/// Why a rung is left out of a table; empty: it is not.
std::string why_skipped(const Climb& climb, int rung) {
    if (auto reason = climb.site.refusal(rung); !reason.empty()) return reason;
    const double estimate = climb.site.estimate_seconds(rung);
    if (estimate <= kLongestRunSeconds || is_named(climb.options, climb.engine.rungs()[static_cast<std::size_t>(rung)])) return {};
    return "one run would take about " + format_seconds(estimate) + "; --only runs it all the same";
}

/// The copy is measured before the rungs and after them; the faster median counts, so that a moment's load on the machine
/// flatters no rung.
void keep_faster(Timing& kept, const Timing& again) {
    if (again.median < kept.median) kept = again;
}

/// One length of the sweep: the copy and every chosen rung that can and need not take long.
void add_length(Sweep& sweep, const LadderEngine& engine, const Problem& problem, const ClimbOptions& options,
                const std::vector<int>& chosen, const LadderProgress& progress) {
    constexpr double kLongestPointSeconds = 1;
    const LadderCase contest{.key = "sweep", .title = {}, .problem = problem, .known = {}};
    const CaseData data = ladder_data(contest);
    const ReferenceBlocks expected(problem, data);
    const auto site = engine.site(problem, data);
    const Climb climb{engine, contest, options, expected, *site, false};
    const double copied = 2 * static_cast<double>(data.signal.size());
    Timing copy = site->measure_copy(engine.measures_cold(), options.seconds);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        if (!site->refusal(chosen[i]).empty() || site->estimate_seconds(chosen[i]) > kLongestPointSeconds) continue;
        const std::string what = sweep.lines[i].lesson.label() + " with " + std::to_string(problem.length) + " samples";
        progress(what);
        const LadderRow row = climb_rung(climb, chosen[i]);
        if (!row.failure.empty()) {
            sweep.failures.push_back(std::string(row.verdict) + ": " + what + ": " + row.failure);
            continue;
        }
        const double seconds = row.time.median;
        sweep.lines[i].points.push_back({problem.length, seconds, moved_bytes(problem) / seconds, 0});
    }
    keep_faster(copy, site->measure_copy(engine.measures_cold(), options.seconds));
    sweep.copy.push_back({problem.length, copy.median, copied / copy.median, 1});
    for (auto& line : sweep.lines) {
        if (line.points.empty() || line.points.back().length != problem.length) continue;
        line.points.back().copy_fraction = copy.median / line.points.back().seconds;
    }
}

}  // namespace

LadderTable climb(const LadderEngine& engine, const LadderCase& contest, const ClimbOptions& options,
                  const LadderProgress& progress) {
    LadderTable table{.contest = contest, .rows = {}, .copy = {}, .skipped = {}, .naive = {}};
    progress("data and textbook sums");
    const CaseData data = ladder_data(contest);
    const ReferenceBlocks expected(contest.problem, data);
    const auto site = engine.site(contest.problem, data);
    const Climb climb{engine, contest, options, expected, *site};
    table.copy.time = site->measure_copy(engine.measures_cold(), options.seconds);
    if (engine.measures_cold()) table.copy.warm = site->measure_copy(false, options.seconds);
    for (int rung = 0; rung < static_cast<int>(engine.rungs().size()); ++rung) {
        const Lesson& lesson = engine.rungs()[static_cast<std::size_t>(rung)];
        if (!is_wanted(options, lesson)) continue;
        if (auto reason = why_skipped(climb, rung); !reason.empty()) {
            table.skipped.push_back({lesson, std::move(reason)});
            continue;
        }
        progress(lesson.label());
        table.rows.push_back(climb_rung(climb, rung));
    }
    add_autotuned(climb, table, progress);
    keep_faster(table.copy.time, site->measure_copy(engine.measures_cold(), options.seconds));
    if (table.copy.warm) keep_faster(*table.copy.warm, site->measure_copy(false, options.seconds));
    finish(table);
    return table;
}

Sweep sweep_lengths(const LadderEngine& engine, const Problem& problem, const ClimbOptions& options,
                    const LadderProgress& progress) {
    constexpr int kFirst = 12;
    const int last = engine.measures_cold() ? 26 : 24;
    Sweep sweep{.problem = problem, .copy = {}, .lines = {}, .failures = {}};
    const auto& rungs = engine.rungs();
    std::vector<int> chosen;
    for (int rung = 0; rung < static_cast<int>(rungs.size()); ++rung) {
        const Lesson& lesson = rungs[static_cast<std::size_t>(rung)];
        const bool drawn = lesson.origin.empty() || lesson.origin.front() == 'E';
        if (drawn && is_wanted(options, lesson)) chosen.push_back(rung);
    }
    sweep.lines.resize(chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) sweep.lines[i].lesson = rungs[static_cast<std::size_t>(chosen[i])];
    for (int power = kFirst; power <= last; ++power) {
        Problem one = problem;
        one.length = std::int64_t{1} << power;
        if (one.mode == Mode::valid && one.length < one.taps) continue;
        try {
            add_length(sweep, engine, one, options, chosen, progress);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::memory) throw;
            break;  // longer ones do not fit either
        }
    }
    std::erase_if(sweep.lines, [](const SweepLine& line) { return line.points.empty(); });
    return sweep;
}

}  // namespace tapline::cli
