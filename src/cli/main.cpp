// The command `tapline`. Exit status: 0 done, 1 failed, 2 wrong usage; messages go to standard error.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/convolve/stores.hpp"
#include "design/text.hpp"
#include "io/output_file.hpp"
#include "tapline/error.hpp"

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr const char* kFooter =
    "Examples:\n"
    "  tapline convolve dry.wav room.wav -o wet.wav            a sound in a room\n"
    "  tapline convolve noisy.flac lowpass:4000 -o clean.flac  a low-pass at 4 kHz\n"
    "  tapline image photo.jpg -o soft.jpg --mask gaussian:2   a blurred picture\n"
    "  tapline bench --taps 127 --algorithms all               how fast, against a memory copy\n"
    "  tapline ladder --report ladder.html                     every way to write it, on this machine\n"
    "\n"
    "`tapline COMMAND --help` explains a command. Exit status: 0 done, 1 failed, 2 wrong usage.";

// CLI11 takes "-.5,1" for a short option; "-0.5,1" it knows as a number.
std::string protect_negative_fraction(const char* argument) {
    std::string text = argument;
    if (text.size() > 2 && text[0] == '-' && text[1] == '.' && text[2] >= '0' && text[2] <= '9') text.insert(1, "0");
    return text;
}

std::string known_commands(const CLI::App& app) {
    const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
    std::string names;
    for (std::size_t i = 0; i < commands.size(); ++i) {
        names += (i == 0 ? "" : i + 1 == commands.size() ? " or " : ", ") + commands[i]->get_name();
    }
    return names;
}

std::string near_command(const CLI::App& app, std::string_view word) {
    std::vector<std::string> names;
    for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) { names.push_back(sub->get_name()); }
    return std::string(tapline::design::near_name(names, word));
}

int usage(const CLI::App& app, const std::string& message) {
    std::string command = "tapline";
    for (const auto* sub : app.get_subcommands()) command += " " + sub->get_name();
    std::fprintf(stderr, "tapline: %s\nTry '%s --help'.\n", message.c_str(), command.c_str());
    return kUsage;
}

int run(int argc, char** argv) {
    CLI::App app{"tapline: convolution of signals and images with filters of any length, at close to the speed of a memory copy",
                 "tapline"};
    app.set_version_flag(
        "--version",
        [] {
            std::string text = tapline::cli::version_text();
            text.pop_back();
            return text;
        },
        "Print the version and the engines found, and exit");
    app.get_formatter()->column_width(34);
    app.footer(kFooter);
    app.require_subcommand(1);
    tapline::cli::add_convolve(app);
    tapline::cli::add_image(app);
    tapline::cli::add_info(app);
    tapline::cli::add_bench(app);
    tapline::cli::add_tune(app);
    tapline::cli::add_ladder(app);
    const auto named = [&](const CLI::App* sub) { return sub->get_name() == argv[1]; };
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty()) {
        std::string message = std::string("'").append(argv[1]).append("' is not a command; ");
        const std::string near = near_command(app, argv[1]);
        if (!near.empty()) { message.append("did you mean ").append(near).append("? There are "); }
        return usage(app, message.append(near.empty() ? "use " : "").append(known_commands(app)));
    }
    std::vector<std::string> arguments;  // CLI11 wants them last first
    for (int i = argc - 1; i >= 1; --i) arguments.push_back(protect_negative_fraction(argv[i]));
    try {
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
        return usage(app, error.what());
    }
    return std::fflush(stdout) == 0 ? 0 : throw tapline::Error(tapline::ErrorCode::io, "cannot write to standard output");
}

}  // namespace

int main(int argc, char** argv) {
    tapline::io::remove_temporaries_on_signals();
    try {
        tapline::cli::hand_stores_to_python(argc, argv);
        return run(argc, argv);
    } catch (const tapline::Error& error) { std::fprintf(stderr, "tapline: %s\n", error.what()); } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "tapline: out of memory; use a shorter filter\n");
    } catch (const std::exception& error) { std::fprintf(stderr, "tapline: %s\n", error.what()); }
    return kFailed;
}
