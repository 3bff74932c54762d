#include "cli/bench/bench_image.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/bench/bench_case.hpp"
#include "cli/bench/bench_image_cuda.hpp"
#include "cli/bench/bench_json.hpp"
#include "cli/commands.hpp"
#include "cli/shared/cuda_device.hpp"
#include "cli/shared/numbers.hpp"
#include "core/choice/image_engine.hpp"
#include "reference/image_reference.hpp"

namespace tapline::cli {
namespace {

using Json = nlohmann::ordered_json;

std::optional<std::vector<std::int64_t>> parse_sides(const std::string& text) {
    std::vector<std::int64_t> sides;
    for (std::size_t start = 0;;) {
        const auto cross = text.find('x', start);
        const auto side = parse_count(text.substr(start, cross - start));
        if (!side || *side < 1) { return std::nullopt; }
        sides.push_back(*side);
        if (cross == std::string::npos) { return sides; }
        start = cross + 1;
    }
}

struct ImageData {
    Bytes image;
    Bytes taps;
    Bytes output;
    Bytes copied;
};

// Positive taps whose sum is 1, as those of a blur: what is rounded to integers then uses their whole range.
template <class T>
void normalise(T* taps, std::int64_t height, std::int64_t width, bool separable) {
    double sum = 0;
    std::vector<double> values(static_cast<std::size_t>(height * width));
    for (std::int64_t i = 0; i < height * width; ++i) {
        // The first row and the first column are the factors of a mask of rank 1.
        const double tap = std::abs(static_cast<double>(std::real(taps[i])));
        const double row = std::abs(static_cast<double>(std::real(taps[i % width])));
        const double column = std::abs(static_cast<double>(std::real(taps[i / width * width])));
        values[static_cast<std::size_t>(i)] = separable ? row * column : tap;
        sum += values[static_cast<std::size_t>(i)];
    }
    for (std::int64_t i = 0; i < height * width; ++i) { taps[i] = static_cast<T>(values[static_cast<std::size_t>(i)] / sum); }
}

ImageData make_data(const ImageProblem& problem, bool separable) {
    ImageData data;
    data.image = random_bytes(problem.dtype, image_input_extent(problem), 1);
    data.taps = random_bytes(taps_dtype(problem), image_taps_extent(problem), 2);
    data.output = Bytes(static_cast<std::size_t>(image_output_extent(problem)) * size_of(output_dtype(problem)));
    data.copied = Bytes(data.image.size());
    std::memset(data.copied.data(), 0xFF, data.copied.size());
    if (taps_dtype(problem) == Dtype::f32) {
        normalise(reinterpret_cast<float*>(data.taps.data()), problem.mask_height, problem.mask_width, separable);
    } else if (taps_dtype(problem) == Dtype::f64) {
        normalise(reinterpret_cast<double*>(data.taps.data()), problem.mask_height, problem.mask_width, separable);
    } else if (separable) {
        throw usage_error("--separable: only with real taps");
    }
    return data;
}

// Some outputs: rows [y, y + height) and pixels [x, x + width).
struct Tile {
    std::int64_t y = 0, x = 0, height = 0, width = 0;
};

// The corners, the middle and random places; all outputs if those are few.
std::vector<Tile> tiles_to_check(const ImageProblem& problem) {
    constexpr std::int64_t kSide = 8;
    constexpr double kProducts = 1 << 25;
    constexpr double kLeastTiles = 5, kMostTiles = 64;
    const ImageSize size = image_output_size(problem);
    const double taps = static_cast<double>(problem.mask_height) * static_cast<double>(problem.mask_width);
    const double products = taps * static_cast<double>(problem.channels) * static_cast<double>(size.height * size.width);
    if (products <= kProducts) { return {{0, 0, size.height, size.width}}; }
    const std::int64_t height = std::min(kSide, size.height), width = std::min(kSide, size.width);
    const double a_tile = taps * static_cast<double>(problem.channels * height * width);
    const auto count = static_cast<std::size_t>(std::clamp(kProducts / a_tile, kLeastTiles, kMostTiles));
    const std::int64_t last_y = size.height - height, last_x = size.width - width;
    std::vector<Tile> tiles = {{0, 0, height, width},
                               {0, last_x, height, width},
                               {last_y, 0, height, width},
                               {last_y, last_x, height, width},
                               {last_y / 2, last_x / 2, height, width}};
    const Bytes places = random_bytes(Dtype::f64, static_cast<std::int64_t>(2 * count), 3);
    const auto* uniform = reinterpret_cast<const double*>(places.data());
    for (std::size_t i = tiles.size(); i < count; ++i) {
        const auto place = [](double from, std::int64_t most) {
            return static_cast<std::int64_t>((from + 1) / 2 * static_cast<double>(most));
        };
        tiles.push_back({place(uniform[2 * i], last_y), place(uniform[2 * i + 1], last_x), height, width});
    }
    return tiles;
}

// The tile's window with zeros outside the image, as a problem of fully overlapping outputs.
reference::Sums exact_sums(const ImageProblem& problem, const ImageData& data, const Tile& tile) {
    ImageProblem window = problem;
    window.height = tile.height + problem.mask_height - 1;
    window.width = tile.width + problem.mask_width - 1;
    window.mode = Mode::valid;
    const ImageSize origin = image_origin(problem);
    const auto pixel = static_cast<std::size_t>(problem.channels) * size_of(problem.dtype);
    Bytes pixels(static_cast<std::size_t>(window.height * window.width) * pixel);
    std::memset(pixels.data(), 0, pixels.size());
    const std::int64_t left = tile.x - origin.width;
    const std::int64_t first = std::max<std::int64_t>(left, 0), last = std::min(left + window.width, problem.width);
    for (std::int64_t y = 0; y < window.height; ++y) {
        const std::int64_t from = tile.y - origin.height + y;
        if (from < 0 || from >= problem.height || first >= last) { continue; }
        std::memcpy(pixels.data() + static_cast<std::size_t>(y * window.width + first - left) * pixel,
                    data.image.data() + static_cast<std::size_t>(from * problem.width + first) * pixel,
                    static_cast<std::size_t>(last - first) * pixel);
    }
    return reference::image_sums(window, pixels.data(), data.taps.data());
}

struct Errors {
    long double errors = 0;
    long double squares = 0;
    double wrong = 0;
};

// Integers: a sum beside a tie may go either way, by as much as f32 sums may be off.
template <class T>
void compare(Errors& errors, const ImageProblem& problem, const ImageData& data, const Tile& tile) {
    const reference::Sums exact = exact_sums(problem, data, tile);
    const ImageSize size = image_output_size(problem);
    const auto* out = reinterpret_cast<const T*>(data.output.data());
    std::size_t i = 0;
    for (std::int64_t y = tile.y; y < tile.y + tile.height; ++y) {
        const std::int64_t row = (y * size.width + tile.x) * problem.channels;
        for (std::int64_t e = row; e < row + tile.width * problem.channels; ++e, ++i) {
            if constexpr (std::is_integral_v<T>) {
                constexpr long double kMost = std::numeric_limits<T>::max();
                const long double off = std::abs(std::clamp<long double>(exact.real[i], 0, kMost) - out[e]);
                errors.wrong += off <= 0.5L + 1e-5L * kMost ? 0 : 1;
            } else {
                const std::complex<long double> value(std::real(out[e]), std::imag(out[e]));
                const std::complex<long double> wanted(exact.real[i], kIsComplex<T> ? exact.imag[i] : 0.0L);
                errors.errors += std::norm(value - wanted);
                errors.squares += std::norm(wanted);
            }
        }
    }
}

// Rounding of k random terms grows like sqrt(k) eps.
double tolerance_of(const ImageProblem& problem) {
    const double eps = real_part_of(problem.dtype) == Dtype::f64 ? 0x1p-52 : 0x1p-23;
    return eps * (16 + std::sqrt(static_cast<double>(problem.mask_height) * static_cast<double>(problem.mask_width)));
}

CheckResult check(const ImagePlan& plan, const ImageData& data) {
    const ImageProblem& problem = plan.problem();
    std::memset(data.output.data(), 0xFF, data.output.size());  // all ones: NaN in every floating type
    plan.execute_host(data.output.data(), data.image.data());
    Errors errors;
    std::int64_t unwritten = 0;
    visit_dtype(output_dtype(problem), [&]<class T>(std::type_identity<T>) {
        for (const Tile& tile : tiles_to_check(problem)) { compare<T>(errors, problem, data, tile); }
        const auto* out = reinterpret_cast<const T*>(data.output.data());
        const std::int64_t outputs = image_output_extent(problem);
        for (std::int64_t i = 0; i < outputs; ++i) { unwritten += std::isnan(static_cast<double>(std::real(out[i]))) ? 1 : 0; }
    });
    if (is_integer(problem.dtype)) { return {.error = errors.wrong, .tolerance = 0, .unwritten = 0}; }
    const long double relative = errors.squares > 0 ? errors.errors / errors.squares : errors.errors;
    return {.error = static_cast<double>(std::sqrt(relative)), .tolerance = tolerance_of(problem), .unwritten = unwritten};
}

std::string size_text(const ImageSize& size) { return std::to_string(size.height) + "x" + std::to_string(size.width); }

std::vector<std::string> names_to_run(const ImageBench& bench, const ImageProblem& problem, const ImageData& data,
                                      const ImagePlan& automatic) {
    if (bench.algorithms == "auto") { return {automatic.algorithm()}; }
    const auto infos = image_algorithms(
        problem, data.taps.data(), {.device = bench.device, .accuracy = bench.accuracy, .algorithm = {}, .threads = bench.threads});
    const double limit = 10 * std::max(1.0, bench.seconds);
    std::vector<std::string> names;
    std::string known;
    for (const AlgorithmInfo& info : infos) {
        known += (known.empty() ? "" : ", ") + info.name;
        if (bench.algorithms != "all" || !info.supported) { continue; }
        if (info.name == automatic.algorithm() || info.predicted_seconds <= limit) {
            names.push_back(info.name);
            continue;
        }
        std::fprintf(stderr, "tapline: %s skipped: predicted %s a run (name it to run it all the same)\n", info.name.c_str(),
                     format_seconds(info.predicted_seconds).c_str());
    }
    if (bench.algorithms == "all") { return names; }
    for (const std::string& name : split_commas(bench.algorithms)) {
        if (name != "auto" && std::ranges::find(infos, name, &AlgorithmInfo::name) == infos.end()) {
            throw usage_error("--algorithms: '" + name + "' is not all, auto or one of " + known);
        }
        names.push_back(name == "auto" ? automatic.algorithm() : name);
    }
    return names;
}

double textbook_flops(const ImageProblem& problem) {
    const ImageSize size = image_output_size(problem);
    const double products = static_cast<double>(problem.mask_height) * static_cast<double>(problem.mask_width) *
                            static_cast<double>(size.height) * static_cast<double>(size.width) *
                            static_cast<double>(problem.channels);
    return 2 * products * (is_complex(problem.dtype) ? (problem.complex_taps ? 4 : 2) : 1);
}

Json case_json(const ImageBench& bench, const ImagePlan& plan, bool chosen, const ImageData& data) {
    const ImageProblem& problem = plan.problem();
    const CheckResult checked = check(plan, data);
    if (!checked.ok()) {
        throw Error(ErrorCode::device, "wrong result: " + plan.algorithm() + " with a " +
                                           size_text({problem.height, problem.width}) + " image and a " +
                                           size_text({problem.mask_height, problem.mask_width}) + " mask: " + checked.describe() +
                                           "; nothing was timed");
    }
    Json json{{"device", plan.device()}, {"dtype", to_string(problem.dtype)}};
    json["length"] = problem.height * problem.width * problem.channels;
    json["taps"] = problem.mask_height * problem.mask_width;
    json["height"] = problem.height;
    json["width"] = problem.width;
    json["channels"] = problem.channels;
    json["mask_height"] = problem.mask_height;
    json["mask_width"] = problem.mask_width;
    json["separable"] = bench.separable;
    json["batch"] = problem.batch;
    json["filters"] = to_string(problem.masks);
    json["mode"] = to_string(problem.mode);
    json["accuracy"] = to_string(bench.accuracy);
    json["complex_taps"] = problem.complex_taps;
    json["algorithm"] = plan.algorithm();
    json["chosen"] = chosen;
    json["error"] = checked.error;
    if (names_cuda(plan.device())) {
        const CudaDevice device(plan.device());
        add_times(json, time_image_on_gpu(device, plan, data.image, bench.seconds), device.facts(),
                  plan.state().executable->describe());
    } else {
        const Bytes workspace(std::max<std::size_t>(plan.workspace_bytes(), 1));
        add_times(json, time_beside_copy([&] { plan.execute(data.output.data(), data.image.data(), workspace.span()); },
                                         data.copied, data.image, plan.threads(), plan.predicted_seconds(), bench.seconds));
        json["threads"] = plan.threads();
    }
    json["predicted_seconds"] = plan.predicted_seconds();
    json["workspace_bytes"] = plan.workspace_bytes();
    json["gflops"] = textbook_flops(problem) / json["seconds_median"].get<double>() * 1e-9;
    json["version"] = version();
    return json;
}

}  // namespace

std::optional<std::vector<ImageShape>> parse_images(const std::string& text) {
    std::vector<ImageShape> shapes;
    for (const std::string& field : split_commas(text)) {
        const auto sides = parse_sides(field);
        if (!sides || sides->size() < 2 || sides->size() > 3) { return std::nullopt; }
        shapes.push_back({{(*sides)[0], (*sides)[1]}, sides->size() == 3 ? (*sides)[2] : 1});
    }
    return shapes;
}

std::optional<std::vector<ImageSize>> parse_masks(const std::string& text) {
    std::vector<ImageSize> sizes;
    for (const std::string& field : split_commas(text)) {
        const auto sides = parse_sides(field);
        if (!sides || sides->size() > 2) { return std::nullopt; }
        sizes.push_back({sides->front(), sides->back()});
    }
    return sizes;
}

void bench_images(const ImageBench& bench, const std::function<void(const Json&)>& report) {
    for (const ImageShape& shape : bench.images) {
        for (const ImageSize& mask : bench.masks) {
            ImageProblem problem;
            problem.height = shape.size.height;
            problem.width = shape.size.width;
            problem.channels = shape.channels;
            problem.mask_height = mask.height;
            problem.mask_width = mask.width;
            problem.mode = bench.mode;
            problem.dtype = bench.dtype;
            problem.complex_taps = bench.complex_taps;
            validate(problem);
            const ImageData data = make_data(problem, bench.separable);
            PlanOptions options{.device = bench.device, .accuracy = bench.accuracy, .algorithm = {}, .threads = bench.threads};
            const ImagePlan automatic = make_image_plan(problem, data.taps.data(), options);
            for (const std::string& name : names_to_run(bench, problem, data, automatic)) {
                options.algorithm = name;
                const bool chosen = name == automatic.algorithm();
                const ImagePlan plan = chosen ? automatic : make_image_plan(problem, data.taps.data(), options);
                report(case_json(bench, plan, chosen, data));
            }
        }
    }
}

void print_image_header(std::FILE* to) {
    std::fprintf(to, "%-14s %9s  %-14s %10s  %10s  %8s  %9s  %8s\n", "image", "mask", "algorithm", "time", "copy", "of copy",
                 "GFLOP/s", "error");
}

void print_image_row(std::FILE* to, const Json& json) {
    const auto number = [&](const char* field) { return json[field].get<std::int64_t>(); };
    const std::int64_t channels = number("channels");
    const std::string image = size_text({number("height"), number("width")}) + (channels > 1 ? "x" + std::to_string(channels) : "");
    const std::string mask = size_text({number("mask_height"), number("mask_width")});
    const std::string name = json["algorithm"].get<std::string>() + (json["chosen"].get<bool>() ? " *" : "");
    std::fprintf(to, "%-14s %9s  %-14s %10s  %10s  %7.1f%%  %9.4g  %8.1e\n", image.c_str(), mask.c_str(), name.c_str(),
                 format_seconds(json["seconds_median"]).c_str(), format_seconds(json["copy_seconds"]).c_str(),
                 100 * json["copy_fraction"].get<double>(), json["gflops"].get<double>(), json["error"].get<double>());
    std::fflush(to);
}

}  // namespace tapline::cli
