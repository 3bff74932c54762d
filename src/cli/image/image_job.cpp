#include "cli/image/image_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "cli/commands.hpp"
#include "cli/image/image_filter.hpp"
#include "cli/image/image_names.hpp"
#include "cli/shared/numbers.hpp"
#include "cli/shared/progress.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::int64_t memory_bytes() { return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE); }

// The system hands out memory that it does not have and then ends whoever uses it.
void check_memory(const io::Image& image, const io::Image& out, const Plan& plan, const std::string& name) {
    const auto computed = static_cast<double>(image.elements()) * static_cast<double>(size_of(plan.problem().dtype));
    const double needed = static_cast<double>(image.bytes()) + (image.dtype == plan.problem().dtype ? 0 : computed) +
                          static_cast<double>(plan.workspace_bytes()) +
                          static_cast<double>(out.elements()) * static_cast<double>(size_of(out.dtype));
    if (needed <= static_cast<double>(memory_bytes())) { return; }
    throw Error(ErrorCode::memory, name + ": filtering takes " + format_si(needed) + " bytes and the machine has " +
                                       format_si(static_cast<double>(memory_bytes())) + "; cut the image into parts");
}

Json pixels_json(const std::string& name, io::ImageFormat format, const io::Image& image) {
    return {{"name", name},         {"format", to_string(format)}, {"height", image.height},
            {"width", image.width}, {"channels", image.channels},  {"dtype", to_string(image.dtype)},
            {"alpha", image.alpha}};
}

Json describe(const Plan& plan) {
    const ImageSize origin = image_origin(plan.problem());
    return {{"input", nullptr},  // filled in later, but the first to be seen
            {"output", nullptr},
            {"origin", {origin.height, origin.width}},
            {"computed_in", to_string(plan.problem().dtype)},
            {"algorithm", plan.algorithm()},
            {"device", plan.device()},
            {"threads", plan.threads()},
            {"explanation", plan.explain()},
            {"predicted_seconds", plan.predicted_seconds()}};
}

/// All images of a run. The state that threads share is behind the mutex.
class Run {
public:
    Run(const ImageJob& job, const MaskSet& mask, std::vector<ImageFiles> files)
        : job_(job),
          mask_(mask),
          files_(std::move(files)),
          plans_(job, mask),
          progress_(files_.size() > 1 && !job.quiet && !job.json) {
        reports_.resize(files_.size());
    }

    void filter_all() {
        if (files_.size() == 1) { return filter(0); }
        const int all = job_.threads == 0 ? available_threads() : static_cast<int>(job_.threads);
        constexpr int kMostWorkers = 8;  // each holds an image and its output
        const int workers = std::min({all, kMostWorkers, static_cast<int>(std::min<std::size_t>(files_.size(), kMostWorkers))});
        std::vector<std::thread> threads;
        for (int i = 1; i < workers; ++i) {
            threads.emplace_back([this] { work(); });
        }
        work();
        for (std::thread& thread : threads) { thread.join(); }
        progress_.clear();
    }

    [[nodiscard]] std::size_t failed() const { return failed_; }
    [[nodiscard]] double pixels() const { return pixels_; }
    [[nodiscard]] const std::vector<Json>& reports() const { return reports_; }

private:
    void work() {
        for (std::size_t i = next_++; i < files_.size(); i = next_++) {
            std::string message;
            try {
                filter(i);
            } catch (const std::bad_alloc&) { message = files_[i].input + ": out of memory"; } catch (const std::exception& error) {
                message = error.what();
            }
            const std::scoped_lock lock(mutex_);
            ++done_;
            if (!message.empty()) { note_failure(i, message); }
            if (done_ < files_.size()) { show_progress(); }
        }
    }

    void show_progress() {
        const double elapsed = watch_.seconds();
        const double left = elapsed * static_cast<double>(files_.size() - done_) / static_cast<double>(done_);
        progress_.say(std::to_string(done_) + " of " + std::to_string(files_.size()) + " images, " + format_seconds(left) +
                      " left, " + format_si(pixels_ / elapsed) + " pixels/s");
    }

    void note_failure(std::size_t i, const std::string& message) {
        ++failed_;
        progress_.clear();
        std::fprintf(stderr, "tapline: %s\n", message.c_str());
        reports_[i] = {{"input", {{"name", files_[i].input}}}, {"error", message}};
    }

    void filter(std::size_t i) {
        const auto& [input, output] = files_[i];
        Stopwatch watch;
        io::Image image = io::read_image(input, {.max_bytes = memory_bytes()});
        if (image.alpha && job_.alpha == Alpha::drop) { drop_alpha(image); }
        const double read_seconds = watch.lap();

        const ImageProblem problem = image_problem(job_, image, mask_);
        io::Image out = output_shape(image, problem);
        const io::ImageWriteOptions options{.format = output_format(job_, output, image),
                                            .quality = static_cast<int>(job_.quality),
                                            .compression = static_cast<int>(job_.compression)};
        io::check_writable(out, options, output);
        const Plan plan = plans_.plan_for(problem);
        explain(plan);
        check_memory(image, out, plan, input);
        io::OutputFile file;
        file.create(output, false);  // before the work: a name that cannot be written fails at once
        filter_image(out, image, problem, plan, job_.alpha);
        image.pixels.reset();
        const double filter_seconds = watch.lap();

        out.metadata = image.metadata;
        io::write_image(file, out, options);
        file.commit();
        Json json = describe(plan);
        json["input"] = pixels_json(input, image.format, image);
        json["input"]["description"] = image.description;
        json["output"] = pixels_json(output, options.format, out);
        json["read_seconds"] = read_seconds;
        json["filter_seconds"] = filter_seconds;
        json["write_seconds"] = watch.lap();
        const std::scoped_lock lock(mutex_);
        pixels_ += static_cast<double>(out.height) * static_cast<double>(out.width);
        reports_[i] = std::move(json);
    }

    // Once for each kind of image.
    void explain(const Plan& plan) {
        if (!job_.explain) { return; }
        const std::scoped_lock lock(mutex_);
        const std::string text = plan.explain();
        if (!explained_.insert(text).second) { return; }
        progress_.clear();
        std::fputs(text.c_str(), stderr);
    }

    const ImageJob& job_;
    const MaskSet& mask_;
    std::vector<ImageFiles> files_;
    ImagePlans plans_;
    std::atomic<std::size_t> next_ = 0;
    std::mutex mutex_;
    StatusLine progress_;
    Stopwatch watch_;
    std::size_t done_ = 0;
    std::size_t failed_ = 0;
    double pixels_ = 0;
    std::set<std::string> explained_;
    std::vector<Json> reports_;
};

void check_job(const ImageJob& job) {
    if (job.out == "-" && job.json) { throw usage_error("--json and -o - would both write to standard output"); }
    if (std::ranges::count(job.inputs, "-") + (job.mask == "-" ? 1 : 0) > 1) {
        throw usage_error("only one of the images and the mask can be standard input");
    }
    if (!job.to.empty() && !io::image_format_of_name("." + job.to)) {
        throw usage_error("--to: '" + job.to + "' is not png, jpg or npy");
    }
}

// A folder that this run made is gone again if nothing came of it.
class OutputFolder {
public:
    explicit OutputFolder(const ImageJob& job) {
        if (!into_folder(job)) { return; }
        fs::path path = job.out;
        if (!path.has_filename()) { path = path.parent_path(); }
        std::error_code error;
        if (fs::create_directory(path, error)) { made_ = path; }
        if (error) { throw Error(ErrorCode::io, "cannot make the folder " + job.out + ": " + error.message()); }
    }
    ~OutputFolder() {
        std::error_code ignored;
        if (!made_.empty()) { ::rmdir(made_.c_str()); }  // fails if there is something in it
    }
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;

private:
    fs::path made_;
};

Json report(const ImageJob& job, const MaskSet& mask, const Run& run, double seconds) {
    Json json;
    json["mask"] = {{"name", mask.description},
                    {"height", mask.height},
                    {"width", mask.width},
                    {"masks", mask.masks},
                    {"dtype", to_string(mask.dtype)}};
    json["mode"] = to_string(job.mode);
    json["boundary"] = to_string(job.boundary);
    json["operation"] = to_string(job.correlate ? Operation::correlation : Operation::convolution);
    json["alpha"] = to_string(job.alpha);
    json["accuracy"] = to_string(job.accuracy);
    json["images"] = run.reports();
    json["failed"] = run.failed();
    json["seconds"] = seconds;
    json["pixels_per_second"] = run.pixels() / seconds;
    json["version"] = version();
    return json;
}

}  // namespace

const char* to_string(Alpha alpha) noexcept {
    constexpr const char* kNames[] = {"keep", "filter", "drop"};
    static_assert(std::size(kNames) == static_cast<std::size_t>(Alpha::drop) + 1);
    return kNames[static_cast<int>(alpha)];
}

void run_image(const ImageJob& job) {
    check_job(job);
    const Stopwatch watch;
    std::vector<ImageFiles> files = image_files(job);
    const MaskSet mask = load_mask(job.mask);
    const OutputFolder folder(job);
    const std::size_t images = files.size();
    Run run(job, mask, std::move(files));
    run.filter_all();
    if (job.json) { std::cout << report(job, mask, run, watch.seconds()).dump(2) << '\n'; }
    if (run.failed() > 0) {
        throw Error(ErrorCode::io, std::to_string(run.failed()) + " of " + std::to_string(images) + " images failed" +
                                       (run.failed() < images ? "; the others are written" : ""));
    }
}

}  // namespace tapline::cli
