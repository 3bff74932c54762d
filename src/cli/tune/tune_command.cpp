// tapline tune: measures the sizes that the GPU's kernels can be launched with and remembers the fastest.
#include <cstdio>
#include <memory>

#include "cli/measure/cuda_search.hpp"
#include "cli/measure/problems.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/report_file.hpp"
#include "cli/shared/shared_options.hpp"
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
    std::vector<ImageSizes> images = {};
    std::vector<ImageSize> masks = {{3, 3}, {5, 5}, {7, 7}, {15, 15}, {31, 31}};
    bool separable = false;
    std::vector<Dtype> dtypes = {Dtype::f32};
    Accuracy accuracy = Accuracy::standard;
    std::int64_t batch = 1;
    bool per_row = false;
    bool rounded_taps = false;
    double seconds = 0.05;
    std::string json;
};

std::optional<Dtype> parse_floating(const std::string& name) {
    const auto dtype = dtype_from_string(name);
    return dtype && is_integer(*dtype) ? std::nullopt : dtype;
}

// A correlation, so that real taps reach the kernels as they are; mode same.
std::vector<Problem> problems_of(const TuneOptions& options) {
    std::vector<Problem> problems;
    for (const Dtype dtype : options.dtypes) {
        for (ImageSizes image : options.images) {
            for (const ImageSize& mask : options.masks) {
                image.mask = mask;
                ImageProblem problem = image_problem(image);
                problem.operation = Operation::correlation;
                problem.dtype = dtype;
                problems.emplace_back(problem);
            }
        }
        for (std::size_t i = 0; i < options.lengths.size() && options.images.empty(); ++i) {
            for (const std::int64_t taps : options.taps) {
                if (taps > options.lengths[i]) { continue; }
                problems.push_back({.length = options.lengths[i],
                                    .taps = taps,
                                    .batch = options.batch,
                                    .filters = options.per_row ? Filters::per_row : Filters::shared,
                                    .mode = Mode::same,
                                    .operation = Operation::correlation,
                                    .dtype = dtype});
            }
        }
    }
    return problems;
}

std::string gpu_of(const std::string& device) {
    if (device == "cpu") {
        throw Error(ErrorCode::unsupported,
                    "device: the CPU engine has no sizes to search; make plans with Effort::measure, which times its algorithms on "
                    "the spot, or compare them with `tapline bench --algorithms all`");
    }
    return device == "auto" ? "cuda" : device;
}

Json json_of(const Policy& policy) {
    return {{"vectors_per_thread", policy.vectors_per_thread},
            {"threads_per_block", policy.threads_per_block},
            {"tiles_per_block", policy.tiles_per_block},
            {"windows_per_warp", policy.windows_per_warp}};
}

Json json_of(const Candidate& candidate) {
    Json json{{"policy", json_of(candidate.policy)}};
    if (!candidate.failure.empty()) {
        json["failure"] = candidate.failure;
        return json;
    }
    json["error"] = candidate.error;
    add_timing(json, candidate.cold);
    json["seconds_median_warm"] = candidate.warm.median;
    return json;
}

constexpr const char* kRowFormat = "%-10s %-10s %6s  %-26s %-30s %10s  %8s  %8s\n";

void print_header(std::FILE* to, bool images) {
    std::fprintf(to, kRowFormat, "dtype", images ? "image" : "length", images ? "mask" : "taps", "rung", "policy", "time", "gain",
                 "of copy");
}

/// A problem that is being searched: what is measured, and how it is shown.
struct Searched {
    const CudaDevice& device;
    const Problem& problem;
    bool narrow_taps = false;
    double copy_seconds = 0;

    [[nodiscard]] std::string shape() const { return std::string(to_string(problem.dtype)) + ", " + shape_text(problem); }

    [[nodiscard]] Json json_of(const SearchedRung& rung, bool fastest) const {
        Json json{{"device", device.name()}, {"device_name", device.facts().name}, {"driver", device.facts().driver_version}};
        json["version"] = version();
        json["dtype"] = to_string(problem.dtype);
        add_shape(json, problem);
        json["batch"] = problem.batch;
        json["filters"] = to_string(problem.filters);
        json["narrow_taps"] = narrow_taps;
        json["rung"] = rung.rung.info.name;
        json["fastest"] = fastest;
        json["copy_seconds"] = copy_seconds;
        if (rung.best >= 0) {
            const double seconds = rung.kept().cold.median;
            json["policy"] = cli::json_of(rung.kept().policy);
            json["seconds_median"] = seconds;
            json["seconds_median_warm"] = rung.kept().warm.median;
            json["default_seconds"] = rung.default_seconds();
            json["gain"] = rung.default_seconds() / seconds;
            json["copy_fraction"] = copy_seconds / seconds;
        }
        json["candidates"] = Json::array();
        for (const Candidate& c : rung.candidates) { json["candidates"].push_back(cli::json_of(c)); }
        return json;
    }

    void print_row(std::FILE* to, const SearchedRung& rung, bool fastest) const {
        const bool image = is_image(problem);
        const std::string size =
            image ? image_text(image_sizes(problem))
                  : (problem.batch > 1 ? format_count(problem.batch) + " x " : "") + format_count(problem.length);
        const std::string taps = image ? mask_text(image_sizes(problem)) : format_count(problem.taps);
        const std::string name = std::string(rung.rung.info.name) + (fastest ? " *" : "");
        std::string policy = "none is right", time, gain, share;
        if (rung.best >= 0) {
            const double seconds = rung.kept().cold.median;
            policy = describe_policy(rung.kept().policy);
            time = format_seconds(seconds);
            gain = format("%+.1f%%", 100 * (rung.default_seconds() / seconds - 1));
            share = format("%.1f%%", 100 * copy_seconds / seconds);
        }
        std::fprintf(to, kRowFormat, to_string(problem.dtype), size.c_str(), taps.c_str(), name.c_str(), policy.c_str(),
                     time.c_str(), gain.c_str(), share.c_str());
        std::fflush(to);
    }
};

class Tuning {
public:
    explicit Tuning(const TuneOptions& options) : options_(options), device_(gpu_of(options.device)) {}

    void run() {
        for (const Dtype dtype : options_.dtypes) {
            if (options_.rounded_taps) { check_rounded_taps(dtype); }
        }
        ReportFile json(options_.json);
        const auto state = wisdom_state();
        if (!state.reason.empty()) {
            std::fprintf(stderr,
                         "tapline: warning: %s is ignored: %s; a new one will take its place, the old one is kept as %s.damaged\n",
                         state.path.c_str(), state.reason.c_str(), state.path.c_str());
        }
        print_header(json.table(), !options_.images.empty());
        for (const Problem& problem : problems_of(options_)) {
            validate(problem);
            one_problem(problem, json);
        }
        json.commit();
        finish(json.table());
    }

private:
    // Those that take the problem and have a choice of sizes, or whose speed the choice between rungs wants to know.
    [[nodiscard]] std::vector<CudaRung> rungs_for(const CudaProblem& on_device, const Problem& problem) const {
        const bool image = is_image(problem);
        std::vector<CudaRung> rungs = device_.families(image ? 2 : 1);
        std::erase_if(rungs, [&](const CudaRung& rung) {
            if (!on_device.refusal(rung).empty()) { return true; }
            const std::size_t policies = on_device.policies(rung).size();
            return policies < 2 && (rung.info.takes_pieces == 0 || (policies == 0 && !image));
        });
        return rungs;
    }

    void one_problem(const Problem& problem, ReportFile& json) {
        const CaseData data =
            make_case_data(problem, {.with_copy = false, .rounded_taps = options_.rounded_taps, .separable = options_.separable});
        CudaProblem on_device(device_, problem, data, options_.accuracy);
        Searched searched{.device = device_, .problem = problem, .narrow_taps = on_device.narrow_taps()};
        const std::vector<CudaRung> rungs = rungs_for(on_device, problem);
        if (rungs.empty()) {
            std::fprintf(stderr, "tapline: %s: no kernel has a choice of sizes for it\n", searched.shape().c_str());
            return;
        }
        const ReferenceBlocks expected(problem, data);
        searched.copy_seconds = on_device.measure_copy(true, options_.seconds).median;
        const SearchResult result = search(
            on_device, rungs, expected,
            {.accuracy = options_.accuracy, .seconds = options_.seconds, .progress = [&](const SearchedRung& rung, int of, int) {
                 line_.say(searched.shape() + ": " + rung.rung.info.name + ", " + std::to_string(rung.candidates.size() + 1) +
                           " of " + std::to_string(of));
             }});
        line_.clear();
        std::vector<TunedRung> tuned;
        for (std::size_t i = 0; i < result.rungs.size(); ++i) {
            const SearchedRung& rung = result.rungs[i];
            const bool fastest = static_cast<int>(i) == result.fastest;
            report_failures(searched.shape(), rung);
            searched.print_row(json.table(), rung, fastest);
            json.write_line(searched.json_of(rung, fastest));
            if (rung.best >= 0) {
                tuned.push_back({rung.rung.info.name, rung.kept().policy, rung.kept().cold.median, rung.default_seconds()});
            }
        }
        on_device.remember(tuned, utc_now("%Y-%m-%dT%H:%M:%SZ"));  // at once, so that an interrupted search was not for nothing
        remembered_ += tuned.size();
    }

    void report_failures(const std::string& shape, const SearchedRung& rung) {
        for (const Candidate& c : rung.candidates) {
            if (c.failure.empty()) { continue; }
            wrong_ += c.wrong ? 1 : 0;
            std::fprintf(stderr, "tapline: %s: %s with %s: %s\n", shape.c_str(), rung.rung.info.name,
                         describe_policy(c.policy).c_str(), c.failure.c_str());
        }
    }

    void finish(std::FILE* table) const {
        if (remembered_ > 0) { std::fprintf(table, "%zu results remembered in %s\n", remembered_, wisdom_path().c_str()); }
        if (wrong_ > 0) {
            throw Error(ErrorCode::device,
                        std::to_string(wrong_) + " of the kernels measured gave wrong results (above); none of them is kept");
        }
        if (remembered_ == 0) {
            throw Error(ErrorCode::unsupported, "nothing was measured: no kernel of this device has a choice of sizes");
        }
    }

    const TuneOptions& options_;
    CudaDevice device_;
    StatusLine line_;
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
    "With --image the problems are images, of each size with each mask.\n"
    "\n"
    "The file is the one that `tapline info` names; TAPLINE_WISDOM sets another. It is replaced at once or not at\n"
    "all, results of other devices, drivers and versions stay in it, and a damaged one is ignored.\n"
    "\n"
    "Examples:\n"
    "  tapline tune\n"
    "  tapline tune --taps 9,33 --lengths 2^28 --dtypes f32,bf16 --json -\n"
    "  tapline tune --lengths 8192 --batch 16384 --per-row --taps 4,64,128\n"
    "  tapline tune --image 2048x2048 --mask 3,5,7";

}  // namespace

void add_tune(CLI::App& app) {
    auto* sub = app.add_subcommand("tune", "Measure the GPU kernels' sizes on this machine and remember the fastest");
    auto options = std::make_shared<TuneOptions>();
    auto& o = *options;
    sub->add_option("--device", o.device, "cuda or cuda:N [cuda]")->type_name("DEVICE");
    auto* taps = add_counts(*sub, "--taps", o.taps, "Coefficients of the filter, several with commas [see below]");
    auto* lengths = add_counts(*sub, "--lengths", o.lengths, "Samples of the signal [2^14,2^18,2^22,2^26]");
    auto* image = add_images(*sub, o.images, o.masks, "[3,5,7,15,31]");
    image->excludes(lengths)->excludes(taps);
    sub->add_flag("--separable", o.separable, "Masks of rank 1 (default: dense)")->needs(image);
    add_parsed(
        *sub, "--dtypes", "A,B", o.dtypes, [](const std::string& text) { return parse_list(text, parse_floating); },
        "a list of f16, bf16, f32, f64, complex64, complex128", "Element types [f32]");
    add_positive(*sub, "--batch", o.batch, "Signals, one after the other in memory [1]")->excludes(image);
    sub->add_flag("--per-row", o.per_row, "A filter for each signal of the batch (default: one for all)")->excludes(image);
    sub->add_flag("--rounded-taps", o.rounded_taps, "Taps rounded to the signals' type, f16 or bf16 (default: any f32)");
    add_accuracy(*sub, o.accuracy);
    add_duration(*sub, "--seconds", o.seconds, "Measuring time of one size [0.05]");
    add_json_file(*sub, o.json);
    sub->footer(kFooter);
    sub->callback([options] { Tuning(*options).run(); });
}

}  // namespace tapline::cli
