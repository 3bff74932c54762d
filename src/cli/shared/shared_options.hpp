// Options that several commands have.
#pragma once

#include "cli/commands.hpp"
#include "cli/shared/numbers.hpp"
#include "tapline/plan.hpp"

namespace tapline::cli {

/// What commands that filter files have in common.
struct FilterJob {
    std::string out;
    Mode mode;
    Boundary boundary;
    std::optional<std::complex<double>> constant = {};
    bool correlate = false;
    double scale = 1;
    double bias = 0;
    std::optional<Clamp> clamp = {};
    std::optional<Dtype> dtype = {};
    Accuracy accuracy = Accuracy::standard;
    std::string device = "auto";
    std::string algorithm = {};
    std::int64_t threads = 0;
    std::string to = {};  ///< format of the output, "" for its name's
    bool explain = false;
    bool json = false;
    bool quiet = false;
};

// ---- One option each ----

template <class Target>
CLI::Option* add_mode(CLI::App& sub, Target& mode, const std::string& standard) {
    return add_parsed(sub, "--mode", "MODE", mode, mode_from_string, "one of full, same, valid, causal, leading",
                      "full, same, valid, causal or leading" + standard);
}

template <class Target>
CLI::Option* add_dtype(CLI::App& sub, const std::string& name, Target& dtype, const std::string& description) {
    return add_parsed(sub, name, "TYPE", dtype, dtype_from_string, "an element type such as f32, f64, complex64, i16, u8",
                      description);
}

inline CLI::Option* add_accuracy(CLI::App& sub, Accuracy& accuracy,
                                 const std::string& description = "standard, strict or fast [standard]") {
    return add_parsed(sub, "--accuracy", "LEVEL", accuracy, accuracy_from_string, "one of standard, strict, fast", description);
}

inline CLI::Option* add_threads(CLI::App& sub, std::int64_t& threads, const std::string& description) {
    return add_parsed(sub, "--threads", "N", threads, parse_threads, "a number from 0 (all) to 1024", description);
}

/// A number that is at least 1.
template <class Target>
CLI::Option* add_positive(CLI::App& sub, const std::string& name, Target& count, const std::string& description) {
    return add_parsed(sub, name, "N", count, parse_positive, "a positive number such as 1000, 2^20, 16M: at least 1", description);
}

/// Several of them.
inline CLI::Option* add_counts(CLI::App& sub, const std::string& name, std::vector<std::int64_t>& counts,
                               const std::string& description) {
    return add_parsed(sub, name, "A,B", counts, parse_counts, "a list of positive numbers such as 1000,2^20,16M,1.5e6",
                      description);
}

inline CLI::Option* add_duration(CLI::App& sub, const std::string& name, double& seconds, const std::string& description) {
    return add_parsed(sub, name, "S", seconds, parse_duration, "a number of seconds from 0 to 3600", description);
}

/// Of the measuring commands.
inline CLI::Option* add_json_file(CLI::App& sub, std::string& path) {
    return sub.add_option("--json", path, "Write the results to FILE, - for standard output")->type_name("FILE");
}

// ---- Those of commands that filter files ----

/// The options that are added to `sub` from now on stand under this heading.
inline void begin_group(CLI::App& sub, const char* heading) { sub.option_defaults()->group(heading); }

/// --mode, --boundary, --constant.
inline void add_rules(CLI::App& sub, FilterJob& job) {
    add_mode(sub, job.mode, std::string(" [") + to_string(job.mode) + "]");
    add_parsed(
        sub, "--boundary", "RULE", job.boundary, boundary_from_string, "one of zero, constant, nearest, reflect, mirror, wrap",
        std::string("What lies outside: zero, constant, nearest, reflect, mirror or wrap [") + to_string(job.boundary) + "]");
    add_parsed(sub, "--constant", "C", job.constant, parse_constant, "a number, or REAL,IMAGINARY",
               "The value of boundary constant; implies it");
}

/// --scale, --bias, --clamp.
inline void add_epilogue(CLI::App& sub, FilterJob& job) {
    add_parsed(sub, "--scale", "S", job.scale, parse_number, "a number", "Multiplies the output [1]");
    add_parsed(sub, "--bias", "B", job.bias, parse_number, "a number", "Added after scaling [0]");
    add_parsed(sub, "--clamp", "LO,HI", job.clamp, parse_clamp, "LO,HI with LO <= HI", "Limits of the output");
}

/// What the options above say, as fields of a problem.
template <class AnyProblem>
void apply_rules(AnyProblem& problem, const FilterJob& job) {
    problem.mode = job.mode;
    problem.boundary = job.boundary;
    problem.constant = job.constant.value_or(0);
    problem.operation = job.correlate ? Operation::correlation : Operation::convolution;
    problem.scale = job.scale;
    problem.bias = job.bias;
    problem.clamp = job.clamp;
}

inline PlanOptions plan_options(const FilterJob& job) {
    return {.device = job.device, .accuracy = job.accuracy, .algorithm = job.algorithm, .threads = static_cast<int>(job.threads)};
}

/// --accuracy, --device, --algorithm, --threads; the command that lists the algorithms, for the help.
inline void add_computing(CLI::App& sub, FilterJob& job, const char* list_of_algorithms) {
    begin_group(sub, "Computing");
    add_accuracy(sub, job.accuracy, "standard, strict (bounds each output's error) or fast [standard]");
    sub.add_option("--device", job.device, "auto, cpu, cuda, cuda:N, several as cuda:0,1, or cuda:all [auto]")->type_name("DEVICE");
    sub.add_option("--algorithm", job.algorithm, std::string("Use this one; `") + list_of_algorithms + "` lists them")
        ->type_name("NAME");
    add_threads(sub, job.threads, "CPU threads, 0 for all [0]");
}

/// --explain, --json, --quiet.
inline void add_reports(CLI::App& sub, FilterJob& job, const char* quiet) {
    begin_group(sub, "Reports");
    sub.add_flag("--explain", job.explain, "Say on standard error what was chosen and why");
    sub.add_flag("--json", job.json, "Print one JSON object about the run");
    sub.add_flag("-q,--quiet", job.quiet, quiet);
}

/// Runs `run(job)` when the command is named. --constant chooses the boundary of its name, and contradicts every other: a usage
/// error.
template <class Job>
void run_when_named(CLI::App& sub, std::shared_ptr<Job> job, void (*run)(const Job&)) {
    sub.callback([&sub, job, run] {
        if (job->constant) {
            if (sub.count("--boundary") > 0 && job->boundary != Boundary::constant) {
                throw usage_error("--constant: only boundary constant has one, not " + std::string(to_string(job->boundary)));
            }
            job->boundary = Boundary::constant;
        }
        run(*job);
    });
}

}  // namespace tapline::cli
