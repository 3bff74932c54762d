// tapline tune: measures the sizes that the GPU's kernels can be launched with and remembers the fastest.
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/shared/numbers.hpp"
#include "cli/tune/tune_search.hpp"
#include "io/output_file.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

using Json = nlohmann::ordered_json;

// Wisdom serves sizes up to four times away and taps up to a quarter away: these reach everything from 2^12 outputs and 2 taps to
// 61 taps, and the usual lengths above.
struct TuneOptions {
    std::string device = "cuda";
    std::vector<std::int64_t> taps = {2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 127, 129, 255};
    std::vector<std::int64_t> lengths = {1 << 14, 1 << 18, 1 << 22, 1 << 26};
    std::vector<Dtype> dtypes = {Dtype::f32};
    Accuracy accuracy = Accuracy::standard;
    std::int64_t batch = 1;
    bool per_row = false;
    bool rounded_taps = false;
    double seconds = 0.05;
    std::string json;
};

std::optional<std::vector<Dtype>> parse_dtypes(std::string_view text) {
    std::vector<Dtype> dtypes;
    for (const auto& name : split_commas(text)) {
        const auto dtype = dtype_from_string(name);
        if (!dtype || is_integer(*dtype)) return std::nullopt;
        dtypes.push_back(*dtype);
    }
    return dtypes.empty() ? std::nullopt : std::optional(dtypes);
}

std::string now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

std::string gpu_of(const std::string& device) {
    if (device == "cpu") {
        throw Error(ErrorCode::unsupported,
                    "device: the CPU engine has no sizes to search; make plans with Effort::measure, which times its algorithms on "
                    "the spot, or compare them with `tapline bench --algorithms all`");
    }
    return device == "auto" ? "cuda" : device;
}

Json json_of(const cuda_abi::Policy& policy) {
    return {{"vectors_per_thread", policy.vectors_per_thread},
            {"threads_per_block", policy.threads_per_block},
            {"tiles_per_block", policy.tiles_per_block},
            {"windows_per_warp", policy.windows_per_warp}};
}

Json json_of(const CudaDevice& device, const TuneResult& result, const TuneRung& rung) {
    const Problem& problem = result.problem;
    Json json{{"device", device.name()}, {"device_name", device.facts().name}, {"driver", device.facts().driver_version}};
    json["version"] = version();
    json["dtype"] = to_string(problem.dtype);
    json["length"] = problem.length;
    json["taps"] = problem.taps;
    json["batch"] = problem.batch;
    json["filters"] = to_string(problem.filters);
    json["narrow_taps"] = result.plain.narrow_taps != 0;
    json["rung"] = rung.name;
    json["fastest"] = result.fastest >= 0 && &rung == &result.rungs[static_cast<std::size_t>(result.fastest)];
    json["copy_seconds"] = result.copy_cold.median;
    if (rung.best >= 0) {
        json["policy"] = json_of(rung.kept().policy);
        json["seconds_median"] = rung.kept().cold.median;
        json["seconds_median_warm"] = rung.kept().warm.median;
        json["default_seconds"] = rung.default_seconds();
        json["gain"] = rung.default_seconds() / rung.kept().cold.median;
        json["copy_fraction"] = result.copy_cold.median / rung.kept().cold.median;
    }
    json["candidates"] = Json::array();
    for (const TuneCandidate& c : rung.candidates) {
        Json one{{"policy", json_of(c.policy)}};
        if (c.failure.empty()) {
            one["error"] = c.error;
            one["seconds_median"] = c.cold.median;
            one["seconds_min"] = c.cold.least;
            one["seconds_max"] = c.cold.most;
            one["runs"] = c.cold.runs;
            one["seconds_median_warm"] = c.warm.median;
        } else {
            one["failure"] = c.failure;
        }
        json["candidates"].push_back(std::move(one));
    }
    return json;
}

constexpr const char* kRowFormat = "%-10s %-10s %6s  %-26s %-30s %10s  %8s  %8s\n";

void print_header(std::FILE* to) {
    std::fprintf(to, kRowFormat, "dtype", "length", "taps", "rung", "policy", "time", "gain", "of copy");
}

void print_row(std::FILE* to, const TuneResult& result, const TuneRung& rung, bool fastest) {
    const Problem& p = result.problem;
    const std::string length = (p.batch > 1 ? format_count(p.batch) + " x " : "") + format_count(p.length);
    if (rung.best < 0) {
        std::fprintf(to, kRowFormat, to_string(p.dtype), length.c_str(), format_count(p.taps).c_str(), rung.name.c_str(),
                     "none is right", "", "", "");
        return;
    }
    const double seconds = rung.kept().cold.median;
    char gain[32];
    char share[32];
    std::snprintf(gain, sizeof(gain), "%+.1f%%", 100 * (rung.default_seconds() / seconds - 1));
    std::snprintf(share, sizeof(share), "%.1f%%", 100 * result.copy_cold.median / seconds);
    std::fprintf(to, kRowFormat, to_string(p.dtype), length.c_str(), format_count(p.taps).c_str(),
                 (rung.name + (fastest ? " *" : "")).c_str(), describe_policy(rung.kept().policy).c_str(),
                 format_seconds(seconds).c_str(), gain, share);
    std::fflush(to);
}

/// A line that says what is measured now, on a terminal only.
class ProgressLine {
public:
    void show(const std::string& text) const {
        if (on_) std::fprintf(stderr, "\r\033[K%s", text.c_str());
    }
    void clear() const { show(""); }

private:
    bool on_ = ::isatty(STDERR_FILENO) == 1;
};

class Tuning {
public:
    explicit Tuning(const TuneOptions& options) : options_(options), device_(gpu_of(options.device)) {}

    void run() {
        for (const Dtype dtype : options_.dtypes) {
            if (options_.rounded_taps) check_rounded_taps(dtype);
        }
        std::FILE* const table = options_.json == "-" ? stderr : stdout;
        io::OutputFile file;
        const bool write_json = !options_.json.empty();
        if (write_json) file.create(options_.json, false);
        const core::WisdomState state = core::wisdom_state();
        if (!state.reason.empty()) {
            std::fprintf(stderr,
                         "tapline: warning: %s is ignored: %s; a new one will take its place, the old one is kept as %s.damaged\n",
                         state.path.c_str(), state.reason.c_str(), state.path.c_str());
        }
        print_header(table);
        for (const Dtype dtype : options_.dtypes) {
            for (const std::int64_t length : options_.lengths) {
                for (const std::int64_t taps : options_.taps) {
                    if (taps > length) continue;
                    one_problem(tune_problem(length, taps, dtype, options_.batch, options_.per_row), table,
                                write_json ? &file : nullptr);
                }
            }
        }
        if (write_json) file.commit();
        finish(table);
    }

private:
    void one_problem(const Problem& problem, std::FILE* table, io::OutputFile* file) {
        validate(problem);
        const std::string shape = std::string(to_string(problem.dtype)) + ", " + format_count(problem.length) + " samples, " +
                                  format_count(problem.taps) + " taps";
        const TuneResult result =
            tune_search(device_, problem, options_.accuracy, options_.rounded_taps, options_.seconds,
                        [&](const std::string& rung, int at, int of) {
                            line_.show(shape + ": " + rung + ", " + std::to_string(at + 1) + " of " + std::to_string(of));
                        });
        line_.clear();
        if (result.rungs.empty()) std::fprintf(stderr, "tapline: %s: no kernel has a choice of sizes for it\n", shape.c_str());
        for (const TuneRung& rung : result.rungs) {
            report_failures(shape, rung);
            print_row(table, result, rung, result.fastest >= 0 && &rung == &result.rungs[static_cast<std::size_t>(result.fastest)]);
            if (file != nullptr) {
                const std::string text = json_of(device_, result, rung).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
                file->write(text.data(), text.size());
                if (file->direct()) file->flush();
            }
        }
        // At once, so that an interrupted search has not been for nothing.
        const auto entries = wisdom_entries(result, now());
        core::remember(device_.facts(), entries);
        remembered_ += entries.size();
    }

    void report_failures(const std::string& shape, const TuneRung& rung) {
        for (const TuneCandidate& c : rung.candidates) {
            if (c.failure.empty()) continue;
            wrong_ += c.wrong ? 1 : 0;
            std::fprintf(stderr, "tapline: %s: %s with %s: %s\n", shape.c_str(), rung.name.c_str(),
                         describe_policy(c.policy).c_str(), c.failure.c_str());
        }
    }

    void finish(std::FILE* table) const {
        if (remembered_ > 0) { std::fprintf(table, "%zu results remembered in %s\n", remembered_, wisdom_path().c_str()); }
        if (wrong_ > 0) {
            throw Error(ErrorCode::device,
                        std::to_string(wrong_) + " of the kernels measured gave wrong results (above); none of them is kept");
        }
        if (remembered_ == 0)
            throw Error(ErrorCode::unsupported, "nothing was measured: no kernel of this device has a choice of sizes");
    }

    const TuneOptions& options_;
    CudaDevice device_;
    ProgressLine line_;
    std::size_t remembered_ = 0;
    int wrong_ = 0;
};

constexpr const char* kFooter =
    "For every type, length and number of taps, each GPU kernel that can be launched with several sizes (outputs a\n"
    "thread, threads a block, tiles a block) is run with each of them, checked against the textbook sum and timed,\n"
    "with the L2 cache overwritten before each run. What is fastest is remembered for this device, driver and\n"
    "version, and every plan made from then on uses it. `gain` is what it is faster than the kernel's default;\n"
    "`*` marks the fastest kernel. Default taps: 2,3,4,5,7,9,13,17,25,33,49,65,127,129,255.\n"
    "\n"
    "The file is the one that `tapline info` names; TAPLINE_WISDOM sets another. It is replaced at once or not at\n"
    "all, results of other devices, drivers and versions stay in it, and a damaged one is ignored.\n"
    "\n"
    "Examples:\n"
    "  tapline tune\n"
    "  tapline tune --taps 9,33 --lengths 2^28 --dtypes f32,bf16 --json -\n"
    "  tapline tune --lengths 8192 --batch 16384 --per-row --taps 4,64,128";

}  // namespace

void add_tune(CLI::App& app) {
    auto* sub = app.add_subcommand("tune", "Measure the GPU kernels' sizes on this machine and remember the fastest");
    auto options = std::make_shared<TuneOptions>();
    auto& o = *options;
    const std::string counts = "a list of positive numbers such as 1000,2^20,16M,1.5e6";
    sub->add_option("--device", o.device, "cuda or cuda:N [cuda]")->type_name("DEVICE");
    add_parsed(*sub, "--taps", o.taps, parse_counts, counts, "Coefficients of the filter, several with commas [see below]")
        ->type_name("A,B");
    add_parsed(*sub, "--lengths", o.lengths, parse_counts, counts, "Samples of the signal [2^14,2^18,2^22,2^26]")->type_name("A,B");
    add_parsed(*sub, "--dtypes", o.dtypes, parse_dtypes, "a list of f16, bf16, f32, f64, complex64, complex128",
               "Element types [f32]")
        ->type_name("A,B");
    add_parsed(
        *sub, "--batch", o.batch,
        [](const std::string& text) {
            auto count = parse_count(text);
            return count && *count < 1 ? std::nullopt : count;
        },
        "a number that is at least 1", "Signals, one after the other in memory [1]")
        ->type_name("N");
    sub->add_flag("--per-row", o.per_row, "A filter for each signal of the batch (default: one for all)");
    sub->add_flag("--rounded-taps", o.rounded_taps, "Taps rounded to the signals' type, f16 or bf16 (default: any f32)");
    add_parsed(*sub, "--accuracy", o.accuracy, accuracy_from_string, "one of standard, strict, fast",
               "standard, strict or fast [standard]")
        ->type_name("LEVEL");
    add_parsed(
        *sub, "--seconds", o.seconds,
        [](const std::string& text) {
            auto value = parse_number(text);
            return value && !(*value >= 0 && *value <= 3600) ? std::nullopt : value;
        },
        "a number of seconds from 0 to 3600", "Measuring time of one size [0.05]")
        ->type_name("S");
    sub->add_option("--json", o.json, "Write the results to FILE, - for standard output")->type_name("FILE");
    sub->footer(kFooter);
    sub->callback([options] { Tuning(*options).run(); });
}

}  // namespace tapline::cli
