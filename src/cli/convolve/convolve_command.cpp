// tapline convolve: the command line.
#include <memory>

#include "cli/commands.hpp"
#include "cli/convolve/convolve_job.hpp"
#include "cli/shared/numbers.hpp"
#include "cli/shared/shared_options.hpp"
#include "design/design.hpp"

namespace tapline::cli {
namespace {

std::optional<Overflow> parse_overflow(const std::string& text) {
    if (text == "error") return Overflow::error;
    if (text == "wrap") return Overflow::wrap;
    return std::nullopt;
}

std::optional<double> parse_rate(const std::string& text) {
    const auto rate = parse_number(text);
    return rate && !(*rate > 0 && *rate < 1e9) ? std::nullopt : rate;
}

std::string footer() {
    return "SIGNAL is a file: .npy (NumPy), audio (wav, flac, ogg, aiff and what libsndfile reads), raw .f32 and .f64,\n"
           "or .txt and .csv with one number a line. Every channel of a sound, every row of a .npy array is filtered\n"
           "(--axis says along which axis). Files of any length go through in bounded memory. - is standard input or\n"
           "output. OUT's name tells its format; audio keeps the signal's sample rate and sample type. OUT appears\n"
           "only when it is complete: a run that fails or is interrupted leaves an old file as it was.\n"
           "Arrays in stores, in.zarr and in.h5:/NAME, go to the Python module (python3 -m tapline.zarr --help), where that\n"
           "is installed.\n"
           "\n"
           "TAPS is a file of the same kinds (a two-dimensional .npy array: one filter a row; a sound: one filter a\n"
           "channel), with one filter for all or as many as the signal has channels or rows. Or it is written in place:\n" +
           design::help() +
           "  Cutoffs are in Hz where the signal has a sample rate, else fractions of it (0 to 0.5). K is the number of\n"
           "  coefficients; by default long enough for a sharp edge. A text of this kind is never taken for a file;\n"
           "  write ./NAME for a file that is named like one.\n"
           "\n"
           "output[o] = clamp(SCALE * sum over t of taps[t] * signal[o + t - ORIGIN] + BIAS), taps reversed unless\n"
           "--correlate. n samples and k taps give: full n+k-1 outputs; same n, centred (ORIGIN k/2); valid n-k+1, only\n"
           "those that need nothing outside; causal n, delayed (ORIGIN k-1); leading n (ORIGIN 0). Outside the signal\n"
           "a b c d lies: zero 0 0 0, constant C C C, nearest a a a, reflect c b a, mirror d c b, wrap b c d.\n"
           "\n"
           "Integers with integer taps are exact (result i64 or --dtype; too large is an error unless --overflow wrap).\n"
           "Otherwise results are floating; --dtype casts them, to integers rounded and saturated.\n"
           "\n"
           "Examples:\n"
           "  tapline convolve dry.wav hall.wav -o wet.wav --scale 0.5\n"
           "  tapline convolve noisy.wav lowpass:4000 -o clean.wav --mode same --plot clean.png\n"
           "  tapline convolve dry.flac room:2 -o wet.flac --explain\n"
           "  tapline convolve data.npy gaussian:3 -o smooth.npy --mode same --boundary reflect --axis 0\n"
           "  printf '1\\n2\\n4\\n' | tapline convolve - 1,-1 -o - --mode valid";
}

void add_filtering(CLI::App& sub, ConvolveJob& job) {
    begin_group(sub, "Filtering");
    add_rules(sub, job);
    add_parsed(sub, "--origin", "I", job.origin, parse_count, "a whole number",
               "Which tap sits on the output's position, after any reversal [the mode's]");
    sub.add_flag("--correlate", job.correlate, "Correlate: taps are not reversed, complex ones conjugated");
    sub.add_option("--axis", job.axis, "Axis of a .npy array, negative from the end [-1]")->type_name("A");
    add_epilogue(sub, job);
}

void add_files(CLI::App& sub, ConvolveJob& job) {
    begin_group(sub, "Types and formats");
    add_dtype(sub, "--dtype", job.dtype, "Element type of the output");
    add_parsed(sub, "--overflow", "RULE", job.overflow, parse_overflow, "error or wrap",
               "An integer result that does not fit: error or wrap [error]");
    sub.add_option("--from", job.from, "Format of SIGNAL, as an extension: npy, wav, f32, txt, ... [found out]")
        ->type_name("FORMAT");
    sub.add_option("--to", job.to, "Format of OUT, likewise [its name's; for - the signal's]")->type_name("FORMAT");
    add_dtype(sub, "--raw-dtype", job.raw_dtype, "Element type of raw files (.raw, .bin)");
    add_parsed(sub, "--rate", "HZ", job.rate, parse_rate, "a number of samples a second",
               "Sample rate in Hz of a signal that has none");
}

}  // namespace

void add_convolve(CLI::App& app) {
    auto* sub = app.add_subcommand("convolve", "Convolve a signal with a filter, file to file");
    auto job = std::make_shared<ConvolveJob>();
    sub->add_option("SIGNAL", job->signal, "The signal's file, - for standard input")->required()->type_name("");
    sub->add_option("TAPS", job->taps, "The filter: a file, or a text such as lowpass:3000 (see below)")->required()->type_name("");
    sub->add_option("-o,--output", job->out, "The output's file, - for standard output")->required()->type_name("OUT");
    add_filtering(*sub, *job);
    add_files(*sub, *job);
    add_computing(*sub, *job, "tapline bench --algorithms all");
    add_reports(*sub, *job, "No warnings, no progress line");
    sub->add_option("--plot", job->plot, "Draw signal, taps, output and their spectra (.png or .svg)")->type_name("FILE");
    sub->footer(footer());
    run_when_named(*sub, job, run_convolve);
}

}  // namespace tapline::cli
