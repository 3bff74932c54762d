// tapline ladder: every rung on one problem, checked, then timed beside the copy and beside its neighbours.
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "cli/commands.hpp"
#include "cli/ladder/ladder_cases.hpp"
#include "cli/ladder/ladder_image.hpp"
#include "cli/ladder/ladder_json.hpp"
#include "cli/ladder/ladder_print.hpp"
#include "cli/ladder/ladder_report.hpp"
#include "cli/ladder/ladder_run.hpp"
#include "cli/shared/numbers.hpp"
#include "io/output_file.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

struct LadderOptions {
    std::string device = "auto";
    std::optional<std::int64_t> length;
    std::optional<std::int64_t> taps;
    std::optional<Mode> mode;
    std::optional<Clamp> clamp;
    std::string contest;
    std::string only;
    std::string json;
    std::string report;
    std::string peers;
    ClimbOptions climb;
    std::optional<std::vector<std::int64_t>> image;
    std::optional<std::vector<std::int64_t>> mask;
    Boundary boundary = Boundary::zero;
    bool separable = false;
};

std::optional<std::int64_t> parse_positive(const std::string& text) {
    const auto count = parse_count(text);
    return count && *count >= 1 ? count : std::nullopt;
}

std::optional<double> parse_duration(const std::string& text) {
    const auto value = parse_number(text);
    return value && *value >= 0 && *value <= 3600 ? value : std::nullopt;
}

std::optional<Clamp> parse_limits(const std::string& text) {
    const auto fields = split_commas(text);
    if (fields.size() != 2) return std::nullopt;
    const auto low = parse_number(fields[0]);
    const auto high = parse_number(fields[1]);
    if (!low || !high || !(*low < *high)) return std::nullopt;
    return Clamp{*low, *high};
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

std::vector<LadderCase> cases_of(const LadderOptions& options, bool gpu) {
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

std::string now_utc() {
    const std::time_t now = std::time(nullptr);
    std::tm fields{};
    gmtime_r(&now, &fields);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &fields);
    return text;
}

/// One line on a terminal about what is measured now.
class Status {
public:
    Status() : shown_(isatty(STDERR_FILENO) != 0) {}
    ~Status() { clear(); }
    Status(const Status&) = delete;
    Status& operator=(const Status&) = delete;
    void say(const std::string& text) const {
        if (shown_) std::fprintf(stderr, "\r\033[K%s", text.c_str());
    }
    void clear() const {
        if (shown_) std::fputs("\r\033[K", stderr);
    }

private:
    bool shown_;
};

void write_whole(io::OutputFile& file, const std::string& text) {
    file.write(text.data(), text.size());
    file.commit();
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

std::optional<std::vector<std::int64_t>> parse_image(const std::string& text) { return parse_image_size(text, false); }
std::optional<std::vector<std::int64_t>> parse_mask(const std::string& text) { return parse_image_size(text, true); }

void run_images(const LadderOptions& options) {
    if (has_own_problem(options) && (options.length || options.taps || options.mode)) {
        throw usage_error(
            "--image: takes --mask, --boundary, --clamp and --separable; --length, --taps and --mode are for signals");
    }
    if (!options.contest.empty() || !options.report.empty() || !options.peers.empty()) {
        throw usage_error("--image: --case, --report and --peers are for signals");
    }
    ImageLadderOptions image;
    image.device = options.device;
    image.problem.height = options.image->at(0);
    image.problem.width = options.image->at(1);
    image.problem.channels = options.image->size() > 2 ? options.image->at(2) : 1;
    image.problem.mask_height = options.mask ? options.mask->at(0) : 3;
    image.problem.mask_width = options.mask ? options.mask->at(1) : 3;
    image.problem.boundary = options.boundary;
    image.problem.clamp = options.clamp;
    image.separable = options.separable;
    if (!options.only.empty()) image.only = split_commas(options.only);
    image.json = options.json;
    image.seconds = options.climb.seconds;
    climb_image_ladder(image);
}

void run(const LadderOptions& options) {
    if (options.image) return run_images(options);
    if (options.mask || options.separable) throw usage_error("--mask and --separable: need --image HxW");
    if (options.json == "-" && options.report == "-") {
        throw usage_error("--json and --report: both cannot go to standard output");
    }
    const auto engine = ladder_engine(options.device);
    ClimbOptions climbing = options.climb;
    climbing.only = only_of(options.only, *engine);
    const auto cases = cases_of(options, engine->measures_cold());
    const auto peers = options.peers.empty() ? std::vector<Peer>{} : read_peers(options.peers);
    io::OutputFile json;  // names that cannot be written fail before the work
    io::OutputFile report;
    if (!options.json.empty()) json.create(options.json, false);
    if (!options.report.empty()) report.create(options.report, false);

    std::FILE* to = options.json == "-" || options.report == "-" ? stderr : stdout;
    const int columns = terminal_columns(to);
    LadderRun result{.device = engine->device(), .date = now_utc(), .version = version(), .tables = {}, .sweep = {}};
    print_device(to, result.device, columns);
    const Status status;
    for (const auto& contest : cases) {
        const auto progress = [&](const std::string& what) { status.say(contest.key + ": " + what); };
        LadderTable table;
        try {
            table = climb(*engine, contest, climbing, progress);
        } catch (const Error& error) {  // a small device still climbs the other cases
            if (error.code() != ErrorCode::memory || cases.size() == 1) throw;
            status.clear();
            std::fprintf(to, "\n%s: left out: %s\n", contest.key.c_str(), error.what());
            continue;
        }
        merge_peers(peers, table);
        status.clear();
        print_table(to, table, columns);
        result.tables.push_back(std::move(table));
    }
    const auto swept = std::ranges::find_if(cases, &LadderCase::sweeps);
    if (swept != cases.end() && !(options.json.empty() && options.report.empty())) {
        result.sweep = sweep_lengths(*engine, swept->problem, climbing, [&](const std::string& what) { status.say(what); });
        status.clear();
    }
    if (!options.json.empty()) write_whole(json, ladder_json(result));
    if (!options.report.empty()) write_whole(report, ladder_report(result));
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
    add_parsed(*sub, "--length", o.length, parse_positive, "a positive number such as 1000, 2^20, 16M", "Samples of the signal")
        ->type_name("N");
    add_parsed(*sub, "--taps", o.taps, parse_positive, "a positive number such as 32", "Coefficients of the filter")
        ->type_name("K");
    add_parsed(*sub, "--mode", o.mode, mode_from_string, "one of full, same, valid, causal, leading",
               "full, same, valid, causal or leading")
        ->type_name("MODE");
    add_parsed(*sub, "--clamp", o.clamp, parse_limits, "two numbers LO,HI with LO below HI", "Limits of the output")
        ->type_name("LO,HI");
    add_parsed(*sub, "--image", o.image, parse_image, "HxW or HxWxC", "The rungs for images instead, on an image of this size")
        ->type_name("HxW[xC]");
    add_parsed(*sub, "--mask", o.mask, parse_mask, "K or HxW", "Size of the mask [3]")->type_name("K[xK]");
    add_parsed(*sub, "--boundary", o.boundary, boundary_from_string, "one of zero, nearest, reflect, mirror, wrap",
               "Of an image: zero, nearest, reflect, mirror or wrap [zero]")
        ->type_name("RULE");
    sub->add_flag("--separable", o.separable, "A mask that is a column times a row");
    sub->add_option("--only", o.only, "Rungs by number, name or the write-up's name, with commas [all]")->type_name("NAMES");
    add_parsed(*sub, "--seconds", o.climb.seconds, parse_duration, "a number of seconds from 0 to 3600",
               "Time of one measurement [0.2]")
        ->type_name("S");
    add_parsed(*sub, "--tune-seconds", o.climb.tune_seconds, parse_duration, "a number of seconds from 0 to 3600",
               "Time for the search behind the row autotuned, a case [5]")
        ->type_name("S");
    sub->add_option("--peers", o.peers, "Rows of other libraries, from bench/gpu_peers.py")->type_name("FILE");
    sub->add_option("--json", o.json, "Write the results to FILE, - for standard output")->type_name("FILE");
    sub->add_option("--report", o.report, "Write one page with tables, plots and lessons to FILE.html")->type_name("FILE");
    sub->footer(kFooter);
    sub->callback([options] { run(*options); });
}

}  // namespace tapline::cli
