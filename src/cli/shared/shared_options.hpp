// Options that commands share whose jobs have members of the same names.
#pragma once

#include "cli/commands.hpp"
#include "cli/shared/numbers.hpp"
#include "cli/shared/option_values.hpp"

namespace tapline::cli {

/// --scale, --bias, --clamp.
template <class Job>
void add_epilogue(CLI::App& sub, Job& job, const char* group) {
    add_parsed(sub, "--scale", job.scale, parse_number, "a number", "Multiplies the output [1]")->type_name("S")->group(group);
    add_parsed(sub, "--bias", job.bias, parse_number, "a number", "Added after scaling [0]")->type_name("B")->group(group);
    add_parsed(sub, "--clamp", job.clamp, parse_clamp, "LO,HI with LO <= HI", "Limits of the output")
        ->type_name("LO,HI")
        ->group(group);
}

/// --accuracy, --device, --algorithm, --threads; the command that lists the algorithms, for the help.
template <class Job>
void add_computing(CLI::App& sub, Job& job, const char* list_of_algorithms) {
    constexpr const char* kGroup = "Computing";
    add_parsed(sub, "--accuracy", job.accuracy, accuracy_from_string, "one of standard, strict, fast",
               "standard, strict (direct summation only) or fast [standard]")
        ->type_name("LEVEL")
        ->group(kGroup);
    sub.add_option("--device", job.device, "auto, cpu, cuda or cuda:N [auto]")->type_name("DEVICE")->group(kGroup);
    sub.add_option("--algorithm", job.algorithm, std::string("Use this one; `") + list_of_algorithms + "` lists them")
        ->type_name("NAME")
        ->group(kGroup);
    add_parsed(sub, "--threads", job.threads, parse_threads, "a number from 0 (all) to 1024", "CPU threads, 0 for all [0]")
        ->type_name("N")
        ->group(kGroup);
}

/// --constant chooses the boundary of its name, and contradicts every other. Throws a usage error.
template <class Job>
void settle_boundary(const CLI::App& sub, Job& job) {
    if (!job.constant) { return; }
    if (sub.count("--boundary") > 0 && job.boundary != Boundary::constant) {
        throw usage_error("--constant: only boundary constant has one, not " + std::string(to_string(job.boundary)));
    }
    job.boundary = Boundary::constant;
}

}  // namespace tapline::cli
