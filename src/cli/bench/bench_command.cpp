// tapline bench: every case is checked first, then timed beside the copy of its signal.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/bench/bench_case.hpp"
#include "cli/bench/bench_cuda.hpp"
#include "cli/bench/bench_image.hpp"
#include "cli/bench/bench_json.hpp"
#include "cli/commands.hpp"
#include "cli/shared/numbers.hpp"
#include "core/choice/engine.hpp"
#include "io/output_file.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BenchOptions {
    std::vector<std::int64_t> lengths = {std::int64_t{1} << 24};
    std::vector<std::int64_t> taps = {3, 8, 16, 32, 64, 127, 511, 2047, 8191, 65535};
    Mode mode = Mode::same;
    Dtype dtype = Dtype::f32;
    bool complex_taps = false;
    bool rounded_taps = false;
    Accuracy accuracy = Accuracy::standard;
    std::string device = "cpu";
    std::string algorithms = "auto";
    double within = std::numeric_limits<double>::infinity();
    std::int64_t threads = 0;
    std::int64_t batch = 1;
    bool per_row = false;
    std::int64_t filter_count = 0;
    bool host = false;
    double seconds = 1;
    std::string json;
    std::vector<ImageShape> images = {};
    std::vector<ImageSize> masks = {{3, 3}, {7, 7}, {15, 15}, {31, 31}, {63, 63}};
    bool separable = false;
    [[nodiscard]] bool on_gpu() const { return names_cuda(device); }
};

/// What is timed for one length and filter: the algorithms, and which of them the library would choose.
struct Contest {
    Problem problem;
    std::string chosen;
    std::vector<AlgorithmInfo> entries;
};

std::string joined_names(const std::vector<AlgorithmInfo>& infos) {
    std::string names;
    for (const auto& info : infos) names += (names.empty() ? "" : ", ") + info.name;
    return names;
}

/// Of those that --algorithms names, the ones that can, and why the last of the others cannot.
std::vector<AlgorithmInfo> named_entries(const BenchOptions& options, const std::string& chosen, const std::string& shape,
                                         const std::vector<AlgorithmInfo>& infos) {
    std::vector<AlgorithmInfo> entries;
    const std::vector<std::string> names = split_commas(options.algorithms);
    std::string refusal;
    for (const auto& name : names) {
        const auto found = std::ranges::find(infos, name == "auto" ? chosen : name, &AlgorithmInfo::name);
        if (found == infos.end()) {
            throw usage_error("--algorithms: '" + name + "' is not all, auto or one of " + joined_names(infos));
        }
        if (!found->supported) {
            refusal = "algorithm " + name + " cannot do " + shape + ": " + found->reason;
            if (names.size() > 1) std::fprintf(stderr, "tapline: %s\n", refusal.c_str());
            continue;
        }
        entries.push_back(*found);
    }
    if (entries.empty()) throw Error(ErrorCode::unsupported, refusal);
    return entries;
}

/// All that can and do not take minutes.
std::vector<AlgorithmInfo> all_entries(const BenchOptions& options, const std::string& chosen, const std::string& shape,
                                       const std::vector<AlgorithmInfo>& infos) {
    std::vector<AlgorithmInfo> entries;
    const double limit = 10 * std::max(1.0, options.seconds);
    for (const auto& info : infos) {
        if (!info.supported) continue;
        if (info.name != chosen && info.predicted_seconds > limit) {
            std::fprintf(stderr, "tapline: %s for %s skipped: predicted %s a run (name it to run it all the same)\n",
                         info.name.c_str(), shape.c_str(), format_seconds(info.predicted_seconds).c_str());
            continue;
        }
        entries.push_back(info);
    }
    return entries;
}

Contest contest_for(const BenchOptions& options, std::int64_t length, std::int64_t taps, const Plan& automatic,
                    const Problem& problem, const BenchData& data) {
    Contest contest{.problem = problem, .chosen = automatic.algorithm(), .entries = {}};
    const auto infos = algorithms(problem, options.device, options.accuracy, static_cast<int>(options.threads), data.taps.data());
    const std::string shape = format_count(length) + " samples with " + format_count(taps) + " taps";
    contest.entries = options.algorithms == "all" ? all_entries(options, contest.chosen, shape, infos)
                                                  : named_entries(options, contest.chosen, shape, infos);
    const double most = options.within * automatic.predicted_seconds();
    std::erase_if(contest.entries,
                  [&](const AlgorithmInfo& info) { return info.name != contest.chosen && info.predicted_seconds > most; });
    return contest;
}

/// The data of one length and filter, and on a GPU their copy there.
struct CaseData {
    BenchData host;
    ReferenceBlocks expected;
    const CudaDevice* gpu = nullptr;
    std::unique_ptr<CudaProblem> on_gpu = {};
};

CaseData make_case_data(const Problem& problem, bool rounded_taps, const CudaDevice* gpu) {
    BenchData host = make_bench_data(problem, gpu == nullptr);
    if (rounded_taps) round_taps(host, problem);
    ReferenceBlocks expected(problem, host);
    CaseData data{std::move(host), std::move(expected), gpu};
    if (gpu != nullptr) data.on_gpu = std::make_unique<CudaProblem>(*gpu, problem, data.host);
    return data;
}

void require(const CheckResult& checked, const Plan& plan) {
    if (checked.ok()) return;
    const Problem& problem = plan.problem();
    throw Error(ErrorCode::device, "wrong result: " + plan.algorithm() + " with " + std::to_string(problem.length) +
                                       " samples and " + std::to_string(problem.taps) + " taps: " + checked.describe() +
                                       "; nothing was timed");
}

Json host_times(const Plan& plan, const CaseData& data, double seconds) {
    const CheckResult checked = check_host(plan, data.host, data.expected);
    require(checked, plan);
    const HostTimes times = time_host(plan, *data.gpu, data.host, seconds);
    const auto in = static_cast<double>(times.signal_bytes);
    const auto out = static_cast<double>(times.output_bytes);
    Json json{{"error", checked.error}};
    add_timing(json, times.convolution);
    json["upload_seconds"] = times.upload_seconds;
    json["download_seconds"] = times.download_seconds;
    json["copy_seconds"] = times.copy_seconds;
    json["slowest_seconds"] = times.slowest_seconds();
    json["fraction"] = times.slowest_seconds() / times.convolution.median;
    json["bytes_per_second"] = (in + out) / times.convolution.median;
    json["upload_bytes_per_second"] = in / times.upload_seconds;
    json["download_bytes_per_second"] = out / times.download_seconds;
    json["copy_bytes_per_second"] = (in + out) / times.copy_seconds;
    return json;
}

Json run_case(const BenchOptions& options, const Contest& contest, const AlgorithmInfo& entry, const CaseData& data) {
    const Problem& problem = contest.problem;
    const Plan plan = make_plan(problem, data.host.taps.data(),
                                {.device = options.device,
                                 .accuracy = options.accuracy,
                                 .effort = Effort::estimate,
                                 .algorithm = entry.name,
                                 .threads = static_cast<int>(options.threads)});
    const CheckResult checked =
        data.on_gpu ? check(plan, *data.on_gpu, data.host, data.expected) : check(plan, data.host, data.expected);
    require(checked, plan);
    Json json{{"device", plan.device()}, {"dtype", to_string(problem.dtype)}, {"length", problem.length}, {"taps", problem.taps}};
    json["batch"] = problem.batch;
    json["filters"] = to_string(problem.filters);
    if (problem.filter_count != 0) json["filter_count"] = problem.filter_count;
    json["mode"] = to_string(problem.mode);
    json["accuracy"] = to_string(options.accuracy);
    json["complex_taps"] = problem.complex_taps;
    json["rounded_taps"] = options.rounded_taps;
    json["algorithm"] = plan.algorithm();
    json["chosen"] = plan.algorithm() == contest.chosen;
    json["error"] = checked.error;
    if (data.on_gpu) {
        add_times(json, time_case(plan, *data.on_gpu, options.seconds), data.gpu->facts(), plan.state().executable->describe());
    } else {
        add_times(json, time_case(plan, data.host, options.seconds));
    }
    json["threads"] = plan.threads();
    json["predicted_seconds"] = plan.predicted_seconds();
    json["workspace_bytes"] = plan.workspace_bytes();
    json["gflops"] = textbook_flops(problem) / json["seconds_median"].get<double>() * 1e-9;
    if (options.host) json["host"] = host_times(plan, data, options.seconds);
    json["version"] = version();
    return json;
}

void print_header(std::FILE* to) {
    std::fprintf(to, "%-10s %9s  %-14s %10s  %10s  %8s  %9s  %8s\n", "length", "taps", "algorithm", "time", "copy", "of copy",
                 "GFLOP/s", "error");
}

void print_row(std::FILE* to, const Json& json) {
    const std::string name = json["algorithm"].get<std::string>() + (json["chosen"].get<bool>() ? " *" : "");
    std::fprintf(to, "%-10s %9s  %-14s %10s  %10s  %7.1f%%  %9.4g  %8.1e\n", format_count(json["length"]).c_str(),
                 format_count(json["taps"]).c_str(), name.c_str(), format_seconds(json["seconds_median"]).c_str(),
                 format_seconds(json["copy_seconds"]).c_str(), 100 * json["copy_fraction"].get<double>(),
                 json["gflops"].get<double>(), json["error"].get<double>());
    if (json.contains("host")) {
        const Json& host = json["host"];
        const auto rate = [&](const char* field) { return host[field].get<double>() / 1e9; };
        std::fprintf(to, "%-10s %9s  %-14s %10s  %10s  %7.1f%%  GB/s: %.3g in and out, upload %.3g, download %.3g, copies %.3g\n",
                     "", "", "host to host", format_seconds(host["seconds_median"]).c_str(),
                     format_seconds(host["slowest_seconds"]).c_str(), 100 * host["fraction"].get<double>(),
                     rate("bytes_per_second"), rate("upload_bytes_per_second"), rate("download_bytes_per_second"),
                     rate("copy_bytes_per_second"));
    }
    std::fflush(to);
}

void check_options(BenchOptions& options) {
    if (options.device == "auto") options.device = "cpu";  // what the library does by itself with host memory may use either
    if (options.rounded_taps) check_rounded_taps(options.dtype);
    if (options.host && !options.on_gpu()) throw usage_error("--host: only with --device cuda; a CPU works on host memory anyway");
}

void write_line(io::OutputFile& file, const Json& json) {
    const std::string line = json.dump() + "\n";
    file.write(line.data(), line.size());
    if (file.direct()) file.flush();
}

void run_images(const BenchOptions& options) {
    const ImageBench bench{.images = options.images,
                           .masks = options.masks,
                           .separable = options.separable,
                           .mode = options.mode,
                           .dtype = options.dtype,
                           .complex_taps = options.complex_taps,
                           .accuracy = options.accuracy,
                           .algorithms = options.algorithms,
                           .threads = static_cast<int>(options.threads),
                           .seconds = options.seconds,
                           .device = options.device};
    std::FILE* table = options.json == "-" ? stderr : stdout;
    io::OutputFile file;
    if (!options.json.empty()) file.create(options.json, false);
    print_image_header(table);
    bench_images(bench, [&](const Json& json) {
        print_image_row(table, json);
        if (!options.json.empty()) write_line(file, json);
    });
    if (!options.json.empty()) file.commit();
}

void run(BenchOptions options) {
    check_options(options);
    if (!options.images.empty()) return run_images(options);
    const auto gpu = options.on_gpu() ? std::make_unique<CudaDevice>(options.device) : nullptr;
    std::FILE* table = options.json == "-" ? stderr : stdout;
    io::OutputFile file;
    const bool write_json = !options.json.empty();
    if (write_json) file.create(options.json, false);
    print_header(table);
    for (const std::int64_t length : options.lengths) {
        for (const std::int64_t taps : options.taps) {
            Problem problem{.length = length, .taps = taps, .mode = options.mode, .dtype = options.dtype};
            problem.complex_taps = options.complex_taps;
            problem.batch = options.batch;
            problem.filters = options.per_row ? Filters::per_row : Filters::shared;
            problem.filter_count = options.filter_count;
            validate(problem);
            const CaseData data = make_case_data(problem, options.rounded_taps, gpu.get());
            const Plan automatic = make_plan(problem, data.host.taps.data(),
                                             {.device = options.device,
                                              .accuracy = options.accuracy,
                                              .effort = Effort::estimate,
                                              .algorithm = {},
                                              .threads = static_cast<int>(options.threads)});
            const Contest contest = contest_for(options, length, taps, automatic, problem, data.host);
            for (const auto& entry : contest.entries) {
                const Json json = run_case(options, contest, entry, data);
                print_row(table, json);
                if (write_json) write_line(file, json);
            }
        }
    }
    if (write_json) file.commit();
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

}  // namespace

void add_bench(CLI::App& app) {
    auto* sub = app.add_subcommand("bench", "Measure the convolution's speed as a share of the copy's");
    auto options = std::make_shared<BenchOptions>();
    auto& o = *options;
    const std::string counts = "a list of positive numbers such as 1000,2^20,16M,1.5e6";
    add_parsed(*sub, "--lengths", o.lengths, parse_counts, counts, "Samples of the signal, several with commas [2^24]")
        ->type_name("A,B");
    add_parsed(*sub, "--taps", o.taps, parse_counts, counts, "Coefficients of the filter [3,8,16,...,65535]")->type_name("A,B");
    auto* image = add_parsed(*sub, "--image", o.images, parse_images, "sizes such as 2048x2048 or 1080x1920x3",
                             "Images instead of signals: height x width [x channels], several with commas")
                      ->type_name("HxW[xC]");
    image->excludes("--lengths")->excludes("--taps");
    add_parsed(*sub, "--mask", o.masks, parse_masks, "sizes such as 3 or 5x7",
               "Masks of images, several with commas [3,7,15,31,63]")
        ->type_name("K[xK]")
        ->needs(image);
    sub->add_flag("--separable", o.separable, "Masks of rank 1 (default: dense)")->needs(image);
    add_parsed(*sub, "--mode", o.mode, mode_from_string, "one of full, same, valid, causal, leading",
               "full, same, valid, causal or leading [same]")
        ->type_name("MODE");
    add_parsed(*sub, "--dtype", o.dtype, dtype_from_string, "an element type such as f32, f64, complex64, i16",
               "Element type [f32]")
        ->type_name("TYPE");
    add_parsed(
        *sub, "--batch", o.batch,
        [](const std::string& text) {
            auto count = parse_count(text);
            return count && *count < 1 ? std::nullopt : count;
        },
        "a number that is at least 1", "Signals, one after the other in memory [1]")
        ->type_name("N")
        ->excludes(image);
    auto* per_row = sub->add_flag("--per-row", o.per_row, "A filter for each signal of the batch (default: one for all)");
    per_row->excludes(image);
    add_parsed(
        *sub, "--filters", o.filter_count,
        [](const std::string& text) {
            auto count = parse_count(text);
            return count && *count < 1 ? std::nullopt : count;
        },
        "a number that is at least 1", "With --per-row: so many filters, which the rows use in turn [one a row]")
        ->type_name("N")
        ->needs(per_row);
    sub->add_flag("--host", o.host, "On a GPU: also time from host memory to host memory")->excludes(image);
    sub->add_flag("--complex-taps", o.complex_taps, "Complex taps on a complex signal (default: real taps)");
    sub->add_flag("--rounded-taps", o.rounded_taps, "Taps rounded to the signal's type, f16 or bf16 (default: any f32)")
        ->excludes(image);
    add_parsed(*sub, "--accuracy", o.accuracy, accuracy_from_string, "one of standard, strict, fast",
               "standard, strict or fast [standard]")
        ->type_name("LEVEL");
    sub->add_option("--device", o.device, "cpu, cuda or cuda:N; auto is cpu [cpu]")->type_name("DEVICE");
    sub->add_option("--algorithms", o.algorithms,
                    "auto: what the library chooses; all: every one that can; or some of them by name [auto]")
        ->type_name("NAMES");
    add_parsed(
        *sub, "--within", o.within,
        [](const std::string& text) {
            auto value = parse_number(text);
            return value && !(*value >= 1) ? std::nullopt : value;
        },
        "a number that is at least 1", "Of those, only what is predicted to take at most F times as long as what is chosen")
        ->type_name("F");
    add_parsed(
        *sub, "--threads", o.threads,
        [](const std::string& text) {
            auto count = parse_count(text);
            return count && (*count < 0 || *count > 1024) ? std::nullopt : count;
        },
        "a number from 0 (all) to 1024", "CPU threads, also of the copy; 0: all [0]")
        ->type_name("N");
    add_parsed(
        *sub, "--seconds", o.seconds,
        [](const std::string& text) {
            auto value = parse_number(text);
            return value && !(*value >= 0 && *value <= 3600) ? std::nullopt : value;
        },
        "a number of seconds from 0 to 3600", "Measuring time of a case [1]")
        ->type_name("S");
    sub->add_option("--json", o.json, "Write the results to FILE, - for standard output")->type_name("FILE");
    sub->footer(kFooter);
    sub->callback([options] { run(*options); });
}

}  // namespace tapline::cli
