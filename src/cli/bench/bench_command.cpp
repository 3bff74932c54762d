// tapline bench: every case is checked first, then timed beside the copy of its signal.
#include <cstdio>
#include <memory>

#include "cli/bench/bench_case.hpp"
#include "cli/measure/problems.hpp"
#include "cli/shared/report_file.hpp"
#include "cli/shared/shared_options.hpp"

namespace tapline::cli {
namespace {

struct BenchOptions {
    BenchSetup setup;
    std::vector<std::int64_t> lengths = {std::int64_t{1} << 24};
    std::vector<std::int64_t> taps = {3, 8, 16, 32, 64, 127, 511, 2047, 8191, 65535};
    std::vector<ImageSizes> images = {};
    std::vector<ImageSize> masks = {{3, 3}, {7, 7}, {15, 15}, {31, 31}, {63, 63}};
    Mode mode = Mode::same;
    Dtype dtype = Dtype::f32;
    bool complex_taps = false;
    std::int64_t batch = 1;
    bool per_row = false;
    std::int64_t filter_count = 0;
    std::string json;
};

void check_options(BenchOptions& options) {
    BenchSetup& setup = options.setup;
    if (setup.device == "auto") { setup.device = "cpu"; }  // what the library does by itself with host memory may use either
    if (setup.rounded_taps) { check_rounded_taps(options.dtype); }
    if (setup.separable && options.complex_taps) { throw usage_error("--separable: only with real taps"); }
    if (setup.host && !setup.on_gpu()) { throw usage_error("--host: only with --device cuda; a CPU works on host memory anyway"); }
}

Problem image_of(const BenchOptions& options, ImageSizes image, const ImageSize& mask) {
    image.mask = mask;
    ImageProblem problem = image_problem(image);
    problem.mode = options.mode;
    problem.dtype = options.dtype;
    problem.complex_taps = options.complex_taps;
    return problem;
}

Problem signal_of(const BenchOptions& options, std::int64_t length, std::int64_t taps) {
    return {.length = length,
            .taps = taps,
            .batch = options.batch,
            .filters = options.per_row ? Filters::per_row : Filters::shared,
            .mode = options.mode,
            .dtype = options.dtype,
            .complex_taps = options.complex_taps,
            .filter_count = options.filter_count};
}

void run(BenchOptions options) {
    check_options(options);
    const auto gpu = options.setup.on_gpu() ? std::make_unique<CudaDevice>(options.setup.device) : nullptr;
    ReportFile json(options.json);
    std::FILE* const table = json.table();
    print_bench_header(table, !options.images.empty());
    const auto measure = [&](const Problem& problem) {
        validate(problem);
        BenchCase one(options.setup, problem, gpu.get());
        for (const std::string& algorithm : one.entries()) {
            const auto line = one.run(algorithm);
            print_bench_row(table, line);
            json.write_line(line);
        }
    };
    for (const ImageSizes& image : options.images) {
        for (const ImageSize& mask : options.masks) { measure(image_of(options, image, mask)); }
    }
    for (std::size_t i = 0; i < options.lengths.size() && options.images.empty(); ++i) {
        for (const std::int64_t taps : options.taps) { measure(signal_of(options, options.lengths[i], taps)); }
    }
    json.commit();
}

constexpr const char* kFooter =
    "Each case is checked against the textbook sum first (into an output full of NaN), then timed; data are\n"
    "random. `copy` is std::memcpy of the signal on the same threads, measured in turns with the case, and\n"
    "`of copy` is the copy's time divided by the convolution's: 100% means that convolving cost what copying\n"
    "costs. `*` marks what the library chooses by itself. GFLOP/s count the textbook sum's operations.\n"
    "\n"
    "On a GPU signal and output are in its memory, times come from events around replays of a captured graph,\n"
    "`copy` is its own device-to-device copy, and the L2 cache is overwritten before each run; times with what\n"
    "the run before left there are in the JSON as well. --host adds the time from ordinary memory to ordinary\n"
    "memory, beside the slowest of what it cannot do without: pinned upload, pinned download, and copying the\n"
    "signal and the output by all threads.\n"
    "\n"
    "--json writes one JSON object a line with: device, dtype, length, taps, batch, filters, filter_count (if given), mode, "
    "accuracy,\n"
    "complex_taps, rounded_taps, algorithm, chosen, error (relative L2; for integers the number of wrong outputs), seconds_median, "
    "seconds_min, seconds_max,\n"
    "runs, copy_seconds, copy_fraction, streaming_copy_seconds (a copy with streaming stores), threads,\n"
    "instruction_set, predicted_seconds, workspace_bytes, gflops; on a GPU also seconds_median_warm,\n"
    "seconds_min_warm, seconds_max_warm, runs_warm, copy_seconds_warm, copy_fraction_warm, device_name, driver,\n"
    "detail, and with --host an object host.\n"
    "\n"
    "With --image the cases are images and --mask their masks (random positive taps with the sum 1; dense, or of rank\n"
    "1 with --separable), one mask for all channels; length is then the image's elements and taps those of the mask, and\n"
    "the JSON also has height, width, channels, mask_height, mask_width and separable.\n"
    "\n"
    "Examples:\n"
    "  tapline bench --lengths 2^24 --taps 3,127,8191\n"
    "  tapline bench --lengths 1.5e6 --taps 2047 --algorithms all --json results.jsonl\n"
    "  tapline bench --lengths 1000 --taps 9 --threads 1 --json -\n"
    "  tapline bench --device cuda --lengths 8192 --batch 16384 --per-row --filters 2048 --mode causal --taps 4\n"
    "  tapline bench --image 2048x2048,4096x4096x3 --mask 3,7,31x63 --algorithms all";

void add_problem_options(CLI::App& sub, BenchOptions& o) {
    auto* lengths = add_counts(sub, "--lengths", o.lengths, "Samples of the signal, several with commas [2^24]");
    auto* taps = add_counts(sub, "--taps", o.taps, "Coefficients of the filter [3,8,16,...,65535]");
    auto* image = add_images(sub, o.images, o.masks, "[3,7,15,31,63]");
    image->excludes(lengths)->excludes(taps);
    sub.add_flag("--separable", o.setup.separable, "Masks of rank 1 (default: dense)")->needs(image);
    add_mode(sub, o.mode, " [same]");
    add_dtype(sub, "--dtype", o.dtype, "Element type [f32]");
    add_positive(sub, "--batch", o.batch, "Signals, one after the other in memory [1]")->excludes(image);
    auto* per_row = sub.add_flag("--per-row", o.per_row, "A filter for each signal of the batch (default: one for all)");
    per_row->excludes(image);
    add_positive(sub, "--filters", o.filter_count, "With --per-row: so many filters, which the rows use in turn [one a row]")
        ->needs(per_row);
    sub.add_flag("--complex-taps", o.complex_taps, "Complex taps on a complex signal (default: real taps)");
    sub.add_flag("--rounded-taps", o.setup.rounded_taps, "Taps rounded to the signal's type, f16 or bf16 (default: any f32)");
}

}  // namespace

void add_bench(CLI::App& app) {
    auto* sub = app.add_subcommand("bench", "Measure the convolution's speed as a share of the copy's");
    auto options = std::make_shared<BenchOptions>();
    BenchSetup& setup = options->setup;
    add_problem_options(*sub, *options);
    add_accuracy(*sub, setup.accuracy);
    sub->add_option("--device", setup.device, "cpu, cuda or cuda:N; auto is cpu [cpu]")->type_name("DEVICE");
    sub->add_flag("--host", setup.host, "On a GPU: also time from host memory to host memory");
    sub->add_option("--algorithms", setup.algorithms,
                    "auto: what the library chooses; all: every one that can; or some of them by name [auto]")
        ->type_name("NAMES");
    add_parsed(
        *sub, "--within", "F", setup.within,
        [](const std::string& text) {
            auto value = parse_number(text);
            return value && !(*value >= 1) ? std::nullopt : value;
        },
        "a number that is at least 1", "Of those, only what is predicted to take at most F times as long as what is chosen");
    add_threads(*sub, setup.threads, "CPU threads, also of the copy; 0: all [0]");
    add_duration(*sub, "--seconds", setup.seconds, "Measuring time of a case [1]");
    add_json_file(*sub, options->json);
    sub->footer(kFooter);
    sub->callback([options] { run(*options); });
}

}  // namespace tapline::cli
