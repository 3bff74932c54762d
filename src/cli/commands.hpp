// The subcommands. Each adds itself to the command line and runs when it was named there.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <system_error>

#include "tapline/types.hpp"

namespace tapline::cli {

void add_convolve(CLI::App& app);
void add_image(CLI::App& app);
void add_info(CLI::App& app);
void add_bench(CLI::App& app);
void add_tune(CLI::App& app);
void add_ladder(CLI::App& app);

/// The version, and a line for each engine: what was found, and for what was not the reason and the remedy.
std::string version_text();

/// What the command line says cannot be meant: exit status 2.
inline CLI::ValidationError usage_error(const std::string& message) { return CLI::ValidationError(message); }

/// A text that stands for a filter and is no design must be a file; `advice`, if any, is what to say where it is none.
inline void check_is_file(const std::string& text, const std::string& advice) {
    std::error_code ignored;
    if (!advice.empty() && text != "-" && !std::filesystem::exists(text, ignored)) throw usage_error(advice);
}

/// What --rounded-taps is for.
inline void check_rounded_taps(Dtype dtype) {
    if (dtype == Dtype::f16 || dtype == Dtype::bf16) return;
    throw usage_error("--rounded-taps: only for signals of f16 or bf16, not of " + std::string(to_string(dtype)));
}

/// An option whose text, a `type` for the help, `parse` turns into `target`; parse returns nothing for a text that it does not
/// know.
template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, const std::string& type, T& target, Parse parse,
                        const std::string& expected, const std::string& description) {
    const std::string shown = name.substr(name.rfind("--"));
    return app
        .add_option_function<std::string>(
            name,
            [&target, parse, expected, shown](const std::string& text) {
                auto value = parse(text);
                if (!value) throw usage_error(shown + ": '" + text + "' is not " + expected);
                target = *value;
            },
            description)
        ->type_name(type);
}

}  // namespace tapline::cli
