// tapline ladder: every rung on one problem, checked, then timed beside the copy and beside its neighbours.
#include <algorithm>
#include <cctype>
#include <memory>

#include "cli/ladder/ladder_cases.hpp"
#include "cli/ladder/ladder_output.hpp"
#include "cli/ladder/ladder_run.hpp"
#include "cli/measure/problems.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/report_file.hpp"
#include "cli/shared/shared_options.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

struct LadderOptions {
    std::string device = "auto";
    std::optional<std::int64_t> length;
    std::optional<std::int64_t> taps;
    std::optional<Mode> mode;
    std::optional<Clamp> clamp;
    std::optional<ImageSizes> image;
    std::optional<ImageSize> mask;
    Boundary boundary = Boundary::zero;
    bool separable = false;
    std::string contest;
    std::string only;
    std::string json;
    std::string report;
    std::string peers;
    ClimbOptions climb;
};

std::optional<Clamp> parse_limits(const std::string& text) {
    const auto clamp = parse_clamp(text);
    return clamp && clamp->low < clamp->high ? clamp : std::nullopt;
}

bool has_own_problem(const LadderOptions& options) { return options.length || options.taps || options.mode || options.clamp; }

// A case by its key, without regard to upper and lower letters.
LadderCase case_named(const std::string& name, bool gpu) {
    const auto lower = [](std::string text) {
        std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return text;
    };
    for (auto& one : ladder_cases(gpu)) {
        if (lower(one.key) == lower(name)) return one;
    }
    throw usage_error("--case: '" + name + "' is not one of " + ladder_case_keys());
}

LadderCase image_case(const LadderOptions& options) {
    ImageSizes sizes = *options.image;
    sizes.mask = options.mask.value_or(sizes.mask);
    ImageProblem problem = image_problem(sizes);
    problem.boundary = options.boundary;
    problem.clamp = options.clamp;
    validate(problem);
    return {
        .key = "own", .title = "the image that the options give", .problem = problem, .known = {}, .separable = options.separable};
}

std::vector<LadderCase> cases_of(const LadderOptions& options, bool gpu) {
    if (options.image) return {image_case(options)};
    if (options.contest.empty() && !has_own_problem(options)) return ladder_cases(gpu);
    LadderCase contest = case_named(options.contest.empty() ? "ours" : options.contest, gpu);
    if (has_own_problem(options)) {
        const bool named = !options.contest.empty();
        contest.key = named ? contest.key : "own";
        contest.title = named ? contest.title + "; with other numbers" : "the problem that the options give";
        contest.known.clear();
        contest.sweeps = true;
        Problem& problem = contest.problem;
        constexpr std::int64_t kLength = std::int64_t{1} << 24;
        problem.length = options.length.value_or(named ? problem.length : kLength);
        problem.taps = options.taps.value_or(problem.taps);
        problem.mode = options.mode.value_or(problem.mode);
        if (options.clamp) problem.clamp = options.clamp;
        validate(problem);
    }
    return {contest};
}

std::vector<std::string> only_of(const std::string& text, const LadderEngine& engine) {
    if (text.empty()) return {};
    auto names = split_commas(text);
    for (const auto& name : names) {
        if (name == kAutotuned || name == "C6") continue;
        const bool known = std::ranges::any_of(engine.rungs(), [&](const Lesson& lesson) {
            return !name.empty() && (name == lesson.number || name == lesson.name || name == lesson.origin);
        });
        if (known) continue;
        std::string all;
        for (const auto& lesson : engine.rungs()) all += (all.empty() ? "" : ", ") + lesson.name;
        throw usage_error("--only: '" + name + "' is no rung's number, name or origin here; names: " + all + ", " + kAutotuned);
    }
    return names;
}

/// Throws for the first rung that is wrong, after everything has been shown.
void require_all_right(const LadderRun& run) {
    for (const auto& table : run.tables) {
        for (const auto& row : table.rows) {
            if (row.failure.empty()) continue;
            const std::string what = row.lesson.label() + ", case " + table.contest.key + ": " + row.failure;
            throw Error(ErrorCode::device, std::string(row.verdict) + ": " + what);
        }
    }
    if (run.sweep && !run.sweep->failures.empty()) throw Error(ErrorCode::device, run.sweep->failures.front());
}

void check_options(const LadderOptions& options) {
    if (options.image && (options.length || options.taps || options.mode || !options.contest.empty() || !options.peers.empty())) {
        throw usage_error(
            "--image: takes --mask, --boundary, --clamp and --separable; --length, --taps, --mode, --case and --peers are for "
            "signals");
    }
    if (!options.image && (options.mask || options.separable)) throw usage_error("--mask and --separable: need --image HxW");
    if (options.json == "-" && options.report == "-") {
        throw usage_error("--json and --report: both cannot go to standard output");
    }
}

/// Nothing where a small device has no memory for one of several cases.
std::optional<LadderTable> table_of(const LadderEngine& engine, const LadderCase& contest, const ClimbOptions& options,
                                    bool one_of_many, std::FILE* to, StatusLine& status) {
    try {
        LadderTable table =
            climb(engine, contest, options, [&](const std::string& what) { status.say(contest.key + ": " + what); });
        status.clear();
        return table;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::memory || !one_of_many) throw;
        status.clear();
        std::fprintf(to, "\n%s: left out: %s\n", contest.key.c_str(), error.what());
        return std::nullopt;
    }
}

void run(const LadderOptions& options) {
    check_options(options);
    const auto engine = ladder_engine(options.device, options.image ? 2 : 1);
    ClimbOptions climbing = options.climb;
    climbing.only = only_of(options.only, *engine);
    const auto cases = cases_of(options, engine->measures_cold());
    const auto peers = options.peers.empty() ? std::vector<Peer>{} : read_peers(options.peers);
    ReportFile json(options.json);
    ReportFile report(options.report);

    std::FILE* const to = options.report == "-" ? report.table() : json.table();
    const int columns = terminal_columns(to);
    LadderRun result{
        .device = engine->device(), .date = utc_now("%Y-%m-%d %H:%M"), .version = version(), .tables = {}, .sweep = {}};
    print_device(to, result.device, engine->missing(), columns);
    StatusLine status;
    for (const auto& contest : cases) {
        auto table = table_of(*engine, contest, climbing, cases.size() > 1, to, status);
        if (!table) continue;
        merge_peers(peers, *table);
        print_table(to, *table, columns);
        result.tables.push_back(std::move(*table));
    }
    const auto swept = std::ranges::find_if(cases, &LadderCase::sweeps);
    if (swept != cases.end() && !(options.json.empty() && options.report.empty())) {
        result.sweep = sweep_lengths(*engine, swept->problem, climbing, [&](const std::string& what) { status.say(what); });
        status.clear();
    }
    if (!options.json.empty()) json.write(ladder_json(result));
    if (!options.report.empty()) report.write(ladder_report(result));
    json.commit();
    report.commit();
    require_all_right(result);
}

constexpr const char* kFooter =
    "Every rung is executed into an output full of NaN and checked against the textbook sum before it is\n"
    "timed; one that is wrong is shown as WRONG and the exit status is 1. Data are random; where a write-up\n"
    "prints an output, that is asserted too.\n"
    "\n"
    "Cases: A and A2 (block puzzles), B (broadcast block), C (from the naive reduction up), D (radius and\n"
    "padding), E (constant memory, tiles, caches), ours (a long signal). --length, --taps, --mode and --clamp\n"
    "change a case, or give a problem of their own. Columns: the write-up's name for the rung, time (with a\n"
    "cold L2 cache on a GPU), times faster than the naive rung and than the one before, GB/s of signal, taps\n"
    "and output, copy: the time of a copy of the signal as a share of the rung's, GFLOP/s of the textbook\n"
    "sum, error: relative L2. 100 columns show the time with a warm cache too.\n"
    "\n"
    "--image climbs the rungs for images instead.\n"
    "\n"
    "--json and --report measure the rungs of E and our own over lengths as well.\n"
    "\n"
    "Examples:\n"
    "  tapline ladder --report ladder.html\n"
    "  tapline ladder --case C --peers peers.json\n"
    "  tapline ladder --length 2^26 --taps 129 --mode same";

}  // namespace

void add_ladder(CLI::App& app) {
    auto* sub = app.add_subcommand("ladder", "Every way to write the kernel, from the naive one up, on this machine");
    auto options = std::make_shared<LadderOptions>();
    auto& o = *options;
    sub->add_option("--device", o.device, "auto (a GPU if there is one), cpu, cuda or cuda:N [auto]")->type_name("DEVICE");
    sub->add_option("--case", o.contest, "One case: " + ladder_case_keys() + " [all]")->type_name("CASE");
    add_positive(*sub, "--length", o.length, "Samples of the signal");
    add_positive(*sub, "--taps", o.taps, "Coefficients of the filter")->type_name("K");
    add_mode(*sub, o.mode, "");
    add_parsed(*sub, "--clamp", "LO,HI", o.clamp, parse_limits, "two numbers LO,HI with LO below HI", "Limits of the output");
    add_parsed(*sub, "--image", "HxW[xC]", o.image, parse_image, "HxW or HxWxC",
               "The rungs for images instead, on an image of this size");
    add_parsed(*sub, "--mask", "K[xK]", o.mask, parse_mask, "K or HxW", "Size of the mask [3]");
    add_parsed(*sub, "--boundary", "RULE", o.boundary, boundary_from_string, "one of zero, nearest, reflect, mirror, wrap",
               "Of an image: zero, nearest, reflect, mirror or wrap [zero]");
    sub->add_flag("--separable", o.separable, "A mask that is a column times a row");
    sub->add_option("--only", o.only, "Rungs by number, name or the write-up's name, with commas [all]")->type_name("NAMES");
    add_duration(*sub, "--seconds", o.climb.seconds, "Time of one measurement [0.2]");
    add_duration(*sub, "--tune-seconds", o.climb.tune_seconds, "Time for the search behind the row autotuned, a case [5]");
    sub->add_option("--peers", o.peers, "Rows of other libraries, from bench/gpu_peers.py")->type_name("FILE");
    add_json_file(*sub, o.json);
    sub->add_option("--report", o.report, "Write one page with tables, plots and lessons to FILE.html")->type_name("FILE");
    sub->footer(kFooter);
    sub->callback([options] { run(*options); });
}

}  // namespace tapline::cli
