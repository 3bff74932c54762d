#include "cli/ladder/ladder_image.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/commands.hpp"
#include "cli/shared/copy_speed.hpp"
#include "cli/shared/cuda_device.hpp"
#include "cli/ladder/ladder_format.hpp"
#include "cli/shared/numbers.hpp"
#include "cli/shared/probe.hpp"
#include "gpu_host/image_engine.hpp"
#include "core/problem/window.hpp"
#include "io/output_file.hpp"
#include "tapline/info.hpp"

namespace tapline::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kCheckedOutputs = 4096;
constexpr double kTolerance = 1e-6;  // of the promise `standard`: times sum |taps| times the L2 norm of what the outputs read

struct ImageData {
    std::vector<float> image, taps, turned;  // turned: in correlation order
};

ImageData make_data(const ImageProblem& p, bool separable) {
    ImageData d;
    std::mt19937_64 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    d.image.resize(static_cast<std::size_t>(image_input_extent(p)));
    d.taps.resize(static_cast<std::size_t>(image_taps_extent(p)));
    for (float& x : d.image) x = uniform(random);
    for (float& x : d.taps) x = uniform(random);
    if (separable) {
        const auto width = static_cast<std::size_t>(p.mask_width);
        const std::vector<float> row(d.taps.begin(), d.taps.begin() + p.mask_width);
        std::vector<float> column;
        for (std::size_t t = 0; t < d.taps.size(); t += width) column.push_back(d.taps[t]);
        for (std::size_t t = 0; t < d.taps.size(); ++t) d.taps[t] = column[t / width] * row[t % width];
    }
    d.turned.assign(d.taps.rbegin(), d.taps.rend());
    return d;
}

/// What some outputs must be: the corners', and random ones.
class ExactOutputs {
public:
    ExactOutputs(const ImageProblem& p, const ImageData& d) {
        const ImageSize size = image_output_size(p);
        const ImageSize origin = image_origin(p);
        std::mt19937_64 random(2);
        std::vector<std::array<std::int64_t, 3>> places;
        for (const std::int64_t y : {std::int64_t{0}, size.height - 1}) {
            for (const std::int64_t x : {std::int64_t{0}, size.width - 1}) places.push_back({y, x, p.channels - 1});
        }
        const double products = static_cast<double>(p.mask_height) * static_cast<double>(p.mask_width);
        const auto count = static_cast<std::size_t>(std::clamp(2e8 / products, 64.0, static_cast<double>(kCheckedOutputs)));
        const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end)); };
        while (places.size() < count) places.push_back({below(size.height), below(size.width), below(p.channels)});
        for (const auto& [y, x, c] : places) {
            long double sum = 0;
            for (std::int64_t i = 0; i < p.mask_height; ++i) {
                const std::int64_t row = core::boundary_index(p.boundary, y + i - origin.height, p.height);
                for (std::int64_t j = 0; row >= 0 && j < p.mask_width; ++j) {
                    const std::int64_t column = core::boundary_index(p.boundary, x + j - origin.width, p.width);
                    if (column < 0) continue;
                    const float value = d.image[static_cast<std::size_t>((row * p.width + column) * p.channels + c)];
                    const float tap = d.turned[static_cast<std::size_t>(i * p.mask_width + j)];
                    sum += static_cast<long double>(value) * tap;
                    read_ += static_cast<double>(value) * value / products;
                }
            }
            if (p.clamp) sum = std::clamp<long double>(sum, p.clamp->low, p.clamp->high);
            at_.push_back(static_cast<std::size_t>((y * size.width + x) * p.channels + c));
            values_.push_back(static_cast<double>(sum));
        }
        for (const float tap : d.taps) taps_ += std::abs(static_cast<double>(tap));
    }

    struct Result {
        double error;  // relative L2
        bool right;
        std::int64_t unwritten;
    };
    [[nodiscard]] Result compare(const std::vector<float>& out) const {
        double wrong = 0;
        double all = 0;
        for (std::size_t i = 0; i < at_.size(); ++i) {
            const double difference = static_cast<double>(out[at_[i]]) - values_[i];
            wrong += difference * difference;
            all += values_[i] * values_[i];
        }
        const std::int64_t unwritten = std::count_if(out.begin(), out.end(), [](float x) { return std::isnan(x); });
        return {std::sqrt(wrong / std::max(all, 1e-300)), std::sqrt(wrong) <= kTolerance * taps_ * std::sqrt(read_), unwritten};
    }

private:
    std::vector<std::size_t> at_;
    std::vector<double> values_;
    double taps_ = 0, read_ = 0;
};

struct Row {
    Lesson lesson;
    std::string detail, refusal, failure;
    double error = 0, cold = 0, warm = 0, predicted = 0;
};

bool wanted(const ImageLadderOptions& o, const Lesson& lesson) {
    return o.only.empty() || std::ranges::any_of(o.only, [&](const std::string& name) {
               return name == lesson.number || name == lesson.name || (!name.empty() && name == lesson.origin);
           });
}

Lesson lesson_of(const cuda_abi::RungInfo& info) {
    return {info.number, info.name, info.origin, info.idea, info.changed, info.requirements, info.limited_by, info.source};
}

struct Climb {
    std::string device;
    double copy_cold = 0, copy_warm = 0;
    std::vector<Row> rows;
};

Climb climb_gpu(const ImageLadderOptions& o, const ImageData& d, const ExactOutputs& exact) {
    const CudaDevice device(o.device == "auto" ? "cuda" : o.device);
    const cuda_abi::ImageApi* const images = core::cuda_library().images;
    if (images == nullptr) throw Error(ErrorCode::device, "device: the CUDA library has no images; install both of one build");
    const core::ResolvedImage r = core::resolve(o.problem);
    core::ImageRequest request;
    cuda_abi::ImageProblem problem = core::to_abi(r, request);
    problem.ladder = 1;
    const core::SeparableMask factors = core::separate(d.turned.data(), r.mask_height, r.mask_width, Dtype::f32);
    problem.rank = factors.rank;
    const cuda_abi::ImageTaps taps{d.turned.data(), factors.columns.data(), factors.rows.data()};
    std::vector<float> out(static_cast<std::size_t>(image_output_extent(o.problem)));
    const std::size_t in_bytes = d.image.size() * sizeof(float);
    const CudaMemory in(device, in_bytes);
    const CudaMemory to(device, std::max(in_bytes, out.size() * sizeof(float)));
    device.upload(in.data(), d.image.data(), in_bytes);
    const cuda_abi::ImageJob job{.out = to.data(),
                                 .first = 0,
                                 .rows = r.out_height,
                                 .out_row = r.out_row,
                                 .out_image = r.out_image,
                                 .in = in.data(),
                                 .in_first = 0,
                                 .in_last = r.height,
                                 .in_row = r.in_row,
                                 .in_image = r.in_image,
                                 .images = 1};
    Climb climb;
    climb.device = device.name() + ": " + device.facts().name;
    const auto copy = [&](bool cold) {
        cuda_abi::Job plain;
        plain.out = to.data();
        plain.in = in.data();
        cuda_abi::Measurement m;
        cuda_call(device.api().measure, device.index(), static_cast<const cuda_abi::Prepared*>(nullptr),
                  static_cast<const cuda_abi::Job*>(&plain), static_cast<void*>(nullptr), std::int64_t{0},
                  static_cast<std::int64_t>(in_bytes), cold, o.seconds, &m);
        return m.median_seconds;
    };
    climb.copy_cold = copy(true);
    climb.copy_warm = copy(false);
    for (std::int32_t rung = 0; rung < images->rung_count(); ++rung) {
        Row row;
        row.lesson = lesson_of(images->rung(rung));
        if (!wanted(o, row.lesson)) continue;
        cuda_abi::Status status;
        if (!images->supports(rung, device.index(), &problem, &status)) {
            row.refusal = status.message;
            climb.rows.push_back(row);
            continue;
        }
        try {
            const std::unique_ptr<cuda_abi::PreparedImage, void (*)(cuda_abi::PreparedImage*)> prepared(
                cuda_call(images->prepare, rung, device.index(), static_cast<const cuda_abi::ImageProblem*>(&problem),
                          static_cast<const cuda_abi::ImageTaps*>(&taps)),
                images->release);
            std::array<char, 256> text{};
            images->describe(prepared.get(), text.data(), text.size());
            row.detail = text.data();
            row.predicted = images->estimate_seconds(rung, device.index(), &problem);
            const std::int64_t bytes = images->workspace_bytes(prepared.get());
            const CudaMemory workspace(device, static_cast<std::size_t>(bytes));
            device.fill(to.data(), 0xFF, to.size());
            cuda_call(images->execute, static_cast<const cuda_abi::PreparedImage*>(prepared.get()),
                      static_cast<const cuda_abi::ImageJob*>(&job), workspace.data(), bytes,
                      static_cast<cuda_abi::Stream*>(nullptr));
            device.synchronize();
            device.download(out.data(), to.data(), out.size() * sizeof(float));
            const ExactOutputs::Result result = exact.compare(out);
            row.error = result.error;
            if (!result.right || result.unwritten > 0) {
                row.failure =
                    "error " + format_error(result.error) + ", " + std::to_string(result.unwritten) + " outputs unwritten";
            } else {
                const auto measured = [&](bool cold) {
                    cuda_abi::Measurement m;
                    cuda_call(images->measure, static_cast<const cuda_abi::PreparedImage*>(prepared.get()),
                              static_cast<const cuda_abi::ImageJob*>(&job), workspace.data(), bytes, cold, o.seconds, &m);
                    return m.median_seconds;
                };
                row.cold = measured(true);
                row.warm = measured(false);
            }
        } catch (const Error& error) { row.failure = error.what(); }
        climb.rows.push_back(row);
    }
    return climb;
}

double median_of_runs(double seconds, const std::function<void()>& run) {
    std::vector<double> times;
    double spent = 0;
    run();
    while (times.size() < 3 || (spent < seconds && times.size() < 100)) {
        const auto begin = std::chrono::steady_clock::now();
        run();
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        spent += times.back();
    }
    std::ranges::sort(times);
    return times[times.size() / 2];
}

Climb climb_cpu(const ImageLadderOptions& o, const ImageData& d, const ExactOutputs& exact) {
    Climb climb;
    climb.device = "cpu";
    std::vector<float> out(static_cast<std::size_t>(image_output_extent(o.problem)));
    std::vector<float> copied(d.image.size());
    climb.copy_cold = climb.copy_warm = median_of_runs(o.seconds, [&] { std::ranges::copy(d.image, copied.begin()); });
    for (const AlgorithmInfo& info : image_algorithms(o.problem, d.taps.data(), {.device = "cpu"})) {
        Row row;
        row.lesson.name = info.name;
        row.lesson.idea = info.summary;
        if (!wanted(o, row.lesson)) continue;
        row.predicted = info.predicted_seconds;
        if (!info.supported) {
            row.refusal = info.reason;
        } else {
            const ImagePlan plan = make_image_plan(o.problem, d.taps.data(), {.device = "cpu", .algorithm = info.name});
            std::ranges::fill(out, NAN);
            plan.execute(out.data(), d.image.data());
            const ExactOutputs::Result result = exact.compare(out);
            row.error = result.error;
            if (!result.right || result.unwritten > 0) row.failure = "error " + format_error(result.error);
            row.cold = row.warm = median_of_runs(o.seconds, [&] { plan.execute(out.data(), d.image.data()); });
        }
        climb.rows.push_back(row);
    }
    return climb;
}

std::string problem_text(const ImageLadderOptions& o) {
    const ImageProblem& p = o.problem;
    return std::to_string(p.height) + " x " + std::to_string(p.width) + " x " + std::to_string(p.channels) + " f32, mask " +
           std::to_string(p.mask_height) + " x " + std::to_string(p.mask_width) + (o.separable ? " separable" : "") +
           ", mode same, " + to_string(p.boundary) + " boundary";
}

void print(std::FILE* to, const ImageLadderOptions& o, const Climb& climb) {
    const ImageProblem& p = o.problem;
    const double products =
        static_cast<double>(p.height * p.width * p.channels) * static_cast<double>(p.mask_height * p.mask_width);
    const double bytes = 2.0 * static_cast<double>(image_input_extent(p)) * sizeof(float);
    std::fprintf(to, "%s\n%s\n", climb.device.c_str(), problem_text(o).c_str());
    std::fprintf(to, "%-24s %-2s %9s %9s %7s %5s %6s %8s %8s\n", "rung", "of", "time", "warm L2", "first", "GB/s", "copy",
                 "GFLOP/s", "error");
    double first = 0;
    for (const Row& row : climb.rows) {
        if (!row.refusal.empty() || !row.failure.empty()) continue;
        if (first == 0) first = row.cold;
        std::fprintf(to, "%-24s %-2s %9s %9s %7s %5s %6s %8s %8s\n", row.lesson.label().c_str(), row.lesson.origin.c_str(),
                     format_seconds(row.cold).c_str(), format_seconds(row.warm).c_str(), format_times(first / row.cold).c_str(),
                     format_giga(bytes / row.cold).c_str(), format_share(climb.copy_cold / row.cold).c_str(),
                     format_giga(2 * products / row.cold).c_str(), format_error(row.error).c_str());
    }
    std::fprintf(to, "%-24s %-2s %9s %9s %7s %5s %6s\n", "copy of the image", "", format_seconds(climb.copy_cold).c_str(),
                 format_seconds(climb.copy_warm).c_str(), "", format_giga(bytes / climb.copy_cold).c_str(), "100%");
    for (const Row& row : climb.rows) {
        if (!row.failure.empty()) std::fprintf(to, "  WRONG: %s: %s\n", row.lesson.label().c_str(), row.failure.c_str());
        if (!row.refusal.empty()) std::fprintf(to, "  not here: %s: %s\n", row.lesson.label().c_str(), row.refusal.c_str());
    }
}

std::string json_of(const ImageLadderOptions& o, const Climb& climb) {
    const ImageProblem& p = o.problem;
    Json rows = Json::array();
    for (const Row& row : climb.rows) {
        Json one = {{"number", row.lesson.number},         {"name", row.lesson.name},
                    {"origin", row.lesson.origin},         {"idea", row.lesson.idea},
                    {"changed", row.lesson.changed},       {"requires", row.lesson.requirements},
                    {"limited_by", row.lesson.limited_by}, {"source", row.lesson.source}};
        if (!row.refusal.empty()) {
            one["skipped"] = row.refusal;
        } else if (!row.failure.empty()) {
            one["failure"] = row.failure;
        } else {
            one["detail"] = row.detail;
            one["seconds"] = row.cold;
            one["warm_seconds"] = row.warm;
            one["predicted_seconds"] = row.predicted;
            one["copy_fraction"] = climb.copy_cold / row.cold;
            one["error"] = row.error;
        }
        rows.push_back(std::move(one));
    }
    const Json whole = {{"schema", "tapline-ladder-image-1"},
                        {"version", version()},
                        {"device", climb.device},
                        {"height", p.height},
                        {"width", p.width},
                        {"channels", p.channels},
                        {"mask_height", p.mask_height},
                        {"mask_width", p.mask_width},
                        {"separable", o.separable},
                        {"boundary", to_string(p.boundary)},
                        {"copy_seconds", climb.copy_cold},
                        {"copy_warm_seconds", climb.copy_warm},
                        {"rungs", std::move(rows)}};
    return whole.dump(2) + "\n";
}

bool has_gpu() { return core::cuda_library().api != nullptr && core::cuda_library().images != nullptr; }

}  // namespace

std::optional<std::vector<std::int64_t>> parse_image_size(const std::string& text, bool square) {
    std::vector<std::int64_t> sides;
    for (std::size_t start = 0;;) {
        const std::size_t cross = text.find('x', start);
        const auto side = parse_count(text.substr(start, cross == std::string::npos ? cross : cross - start));
        if (!side || *side < 1) return std::nullopt;
        sides.push_back(*side);
        if (cross == std::string::npos) break;
        start = cross + 1;
    }
    if (square && sides.size() == 1) sides.push_back(sides.front());
    const std::size_t most = square ? 2 : 3;
    if (sides.size() < 2 || sides.size() > most) return std::nullopt;
    return sides;
}

void climb_image_ladder(const ImageLadderOptions& options) {
    validate(options.problem);
    const ImageData data = make_data(options.problem, options.separable);
    const ExactOutputs exact(options.problem, data);
    io::OutputFile json;  // a name that cannot be written fails before the work
    if (!options.json.empty()) json.create(options.json, false);
    const bool gpu = names_cuda(options.device) || (options.device == "auto" && has_gpu());
    const Climb climb = gpu ? climb_gpu(options, data, exact) : climb_cpu(options, data, exact);
    print(options.json == "-" ? stderr : stdout, options, climb);
    if (!options.json.empty()) {
        const std::string text = json_of(options, climb);
        json.write(text.data(), text.size());
        json.commit();
    }
    for (const Row& row : climb.rows) {
        if (!row.failure.empty()) throw Error(ErrorCode::device, "WRONG: " + row.lesson.label() + ": " + row.failure);
    }
}

}  // namespace tapline::cli
