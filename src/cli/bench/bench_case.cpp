#include "cli/bench/bench_case.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cli/bench/bench_times.hpp"
#include "cli/commands.hpp"
#include "cli/measure/problems.hpp"
#include "cli/shared/numbers.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string joined_names(const std::vector<AlgorithmInfo>& infos) {
    std::string names;
    for (const auto& info : infos) { names += (names.empty() ? "" : ", ") + info.name; }
    return names;
}

/// Of those that --algorithms names, the ones that can, and why the last of the others cannot.
std::vector<AlgorithmInfo> named_entries(const std::string& algorithms, const std::string& chosen, const std::string& shape,
                                         const std::vector<AlgorithmInfo>& infos) {
    std::vector<AlgorithmInfo> entries;
    const std::vector<std::string> names = split_commas(algorithms);
    std::string refusal;
    for (const auto& name : names) {
        const auto found = std::ranges::find(infos, name == "auto" ? chosen : name, &AlgorithmInfo::name);
        if (found == infos.end()) {
            throw usage_error("--algorithms: '" + name + "' is not all, auto or one of " + joined_names(infos));
        }
        if (!found->supported) {
            refusal = "algorithm " + name + " cannot do " + shape + ": " + found->reason;
            if (names.size() > 1) { std::fprintf(stderr, "tapline: %s\n", refusal.c_str()); }
            continue;
        }
        entries.push_back(*found);
    }
    if (entries.empty()) { throw Error(ErrorCode::unsupported, refusal); }
    return entries;
}

/// All that can and do not take minutes.
std::vector<AlgorithmInfo> all_entries(double seconds, const std::string& chosen, const std::string& shape,
                                       const std::vector<AlgorithmInfo>& infos) {
    std::vector<AlgorithmInfo> entries;
    const double limit = 10 * std::max(1.0, seconds);
    for (const auto& info : infos) {
        if (!info.supported) { continue; }
        if (info.name != chosen && info.predicted_seconds > limit) {
            std::fprintf(stderr, "tapline: %s for %s skipped: predicted %s a run (name it to run it all the same)\n",
                         info.name.c_str(), shape.c_str(), format_seconds(info.predicted_seconds).c_str());
            continue;
        }
        entries.push_back(info);
    }
    return entries;
}

}  // namespace

BenchCase::BenchCase(const BenchSetup& setup, const Problem& problem, const CudaDevice* gpu)
    : setup_(setup),
      problem_(problem),
      gpu_(gpu),
      data_(
          make_case_data(problem, {.with_copy = gpu == nullptr, .rounded_taps = setup.rounded_taps, .separable = setup.separable})),
      expected_(problem, data_),
      automatic_(make_plan(problem, data_.taps.data(), setup.plan_options({}))) {
    if (gpu != nullptr) { on_gpu_.emplace(*gpu, problem, data_, setup.accuracy); }
}

std::vector<std::string> BenchCase::entries() const {
    const std::string& chosen = automatic_.algorithm();
    const auto infos = algorithms(problem_, setup_.device, setup_.accuracy, static_cast<int>(setup_.threads), data_.taps.data());
    const std::string shape = shape_text(problem_);
    const auto able = setup_.algorithms == "all" ? all_entries(setup_.seconds, chosen, shape, infos)
                                                 : named_entries(setup_.algorithms, chosen, shape, infos);
    const double most = setup_.within * automatic_.predicted_seconds();
    std::vector<std::string> names;
    for (const AlgorithmInfo& info : able) {
        if (info.name == chosen || info.predicted_seconds <= most) { names.push_back(info.name); }
    }
    return names;
}

// Into an output full of NaN. The error of a right result.
double BenchCase::check(const Plan& plan) {
    if (on_gpu_) {
        on_gpu_->prepare(plan);
        on_gpu_->execute();
        on_gpu_->download(data_.output.data(), 0, data_.output.size());
    } else {
        std::memset(data_.output.data(), 0xFF, data_.output.size());
        plan.execute(data_.output.data(), data_.signal.data());
    }
    return require_right(plan);
}

double BenchCase::require_right(const Plan& plan) const {
    const CheckResult checked = expected_.compare(setup_.accuracy, data_.output.data());
    if (checked.ok()) { return checked.error; }
    throw Error(ErrorCode::device, "wrong result: " + plan.algorithm() + " with " + shape_text(problem_) + ": " +
                                       checked.describe() + "; nothing was timed");
}

Json BenchCase::run(const std::string& algorithm) {
    const bool chosen = algorithm == automatic_.algorithm();
    const Plan plan = chosen ? automatic_ : make_plan(problem_, data_.taps.data(), setup_.plan_options(algorithm));
    const double error = check(plan);
    Json json{{"device", plan.device()}, {"dtype", to_string(problem_.dtype)}};
    add_shape(json, problem_);
    if (is_image(problem_)) { json["separable"] = setup_.separable; }
    json["batch"] = problem_.batch;
    json["filters"] = to_string(problem_.filters);
    if (problem_.filter_count != 0) { json["filter_count"] = problem_.filter_count; }
    json["mode"] = to_string(problem_.mode);
    json["accuracy"] = to_string(setup_.accuracy);
    json["complex_taps"] = problem_.complex_taps;
    json["rounded_taps"] = setup_.rounded_taps;
    json["algorithm"] = plan.algorithm();
    json["chosen"] = chosen;
    json["error"] = error;
    if (on_gpu_) {
        add_gpu_times(json, *on_gpu_, setup_.seconds);
        json["detail"] = plan.details();
    } else {
        add_cpu_times(json, plan, data_, setup_.seconds);
    }
    json["threads"] = plan.threads();
    json["predicted_seconds"] = plan.predicted_seconds();
    json["workspace_bytes"] = plan.workspace_bytes();
    json["gflops"] = textbook_flops(problem_) / json["seconds_median"].get<double>() * 1e-9;
    if (setup_.host) {
        std::memset(data_.output.data(), 0xFF, data_.output.size());
        plan.execute_host(data_.output.data(), data_.signal.data());
        json["host"]["error"] = require_right(plan);
        add_host_times(json["host"], plan, *gpu_, data_, setup_.seconds);
    }
    json["version"] = version();
    return json;
}

void print_bench_header(std::FILE* to, bool images) {
    std::fprintf(to, "%-*s %9s  %-14s %10s  %10s  %8s  %9s  %8s\n", images ? 14 : 10, images ? "image" : "length",
                 images ? "mask" : "taps", "algorithm", "time", "copy", "of copy", "GFLOP/s", "error");
}

void print_bench_row(std::FILE* to, const Json& json) {
    const bool image = json.contains("height");
    const int width = image ? 14 : 10;
    std::string size = format_count(json["length"]), taps = format_count(json["taps"]);
    if (image) {
        const ImageSizes sizes{.size = {json["height"], json["width"]},
                               .channels = json["channels"],
                               .mask = {json["mask_height"], json["mask_width"]}};
        size = image_text(sizes);
        taps = mask_text(sizes);
    }
    const std::string name = json["algorithm"].get<std::string>() + (json["chosen"].get<bool>() ? " *" : "");
    std::fprintf(to, "%-*s %9s  %-14s %10s  %10s  %7.1f%%  %9.4g  %8.1e\n", width, size.c_str(), taps.c_str(), name.c_str(),
                 format_seconds(json["seconds_median"]).c_str(), format_seconds(json["copy_seconds"]).c_str(),
                 100 * json["copy_fraction"].get<double>(), json["gflops"].get<double>(), json["error"].get<double>());
    if (json.contains("host")) {
        const Json& host = json["host"];
        const auto rate = [&](const char* field) { return host[field].get<double>() / 1e9; };
        std::fprintf(to, "%-*s %9s  %-14s %10s  %10s  %7.1f%%  GB/s: %.3g in and out, upload %.3g, download %.3g, copies %.3g\n",
                     width, "", "", "host to host", format_seconds(host["seconds_median"]).c_str(),
                     format_seconds(host["slowest_seconds"]).c_str(), 100 * host["fraction"].get<double>(),
                     rate("bytes_per_second"), rate("upload_bytes_per_second"), rate("download_bytes_per_second"),
                     rate("copy_bytes_per_second"));
    }
    std::fflush(to);
}

}  // namespace tapline::cli
