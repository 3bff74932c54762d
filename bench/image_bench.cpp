// Images on the CPU against a copy of the same run.
//
//   tapline_image_bench HEIGHT WIDTH CHANNELS DTYPE MASK_HEIGHT MASK_WIDTH [dense|separable|rank2] [ALGORITHM] [THREADS]
//
// Random data. Before timing, 64 outputs drawn at random and the corners are checked against the textbook sum. The copy is one of
// the input to a buffer of the output's size, with plain or with streaming stores, whichever is faster; copy and convolution take
// turns, and the medians count. One line of JSON; explain() goes to standard error.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "cli/shared/copy_speed.hpp"
#include "core/plan/host_memory.hpp"
#include "tapline/tapline.hpp"

namespace {

using namespace tapline;

constexpr double kSeconds = 1.5;  // of measuring
constexpr int kLeastRuns = 11;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

template <class T>
void fill(void* data, std::int64_t count, std::mt19937_64& random) {
    for (std::int64_t i = 0; i < count; ++i) {
        const double uniform = std::uniform_real_distribution<double>(0, 1)(random);
        static_cast<T*>(data)[i] = static_cast<T>(std::is_integral_v<T> ? uniform * 255 : uniform);
    }
}

std::vector<float> draw_mask(const ImageProblem& p, int rank, std::mt19937_64& random) {
    std::uniform_real_distribution<double> draw(0.1, 1);
    const auto h = static_cast<std::size_t>(p.mask_height), w = static_cast<std::size_t>(p.mask_width);
    std::vector<double> sums(h * w, 0.0);
    for (int r = 0; r < rank; ++r) {
        std::vector<double> column(h), row(w);
        for (double& value : column) { value = draw(random); }
        for (double& value : row) { value = draw(random); }
        for (std::size_t t = 0; t < sums.size(); ++t) { sums[t] += column[t / w] * row[t % w]; }
    }
    double total = 0;
    for (double& value : sums) {
        if (rank == 0) { value = draw(random); }
        total += value;
    }
    std::vector<float> mask;
    for (const double value : sums) { mask.push_back(static_cast<float>(value / total)); }
    return mask;
}

// The largest error of some outputsagainst the textbook sum (mode same, zero boundary).
double largest_error(const ImageProblem& p, const void* out, const void* in, const std::vector<float>& mask,
                     std::mt19937_64& random) {
    double largest = 0;
    for (int i = 0; i < 68; ++i) {
        const std::int64_t y =
            i < 4 ? (i & 1) * (p.height - 1) : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(p.height));
        const std::int64_t x =
            i < 4 ? (i / 2) * (p.width - 1) : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(p.width));
        const auto c = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(p.channels));
        long double sum = 0;
        for (std::int64_t a = 0; a < p.mask_height; ++a) {
            for (std::int64_t b = 0; b < p.mask_width; ++b) {
                const std::int64_t row = y + a - p.mask_height / 2, column = x + b - p.mask_width / 2;
                if (row < 0 || row >= p.height || column < 0 || column >= p.width) { continue; }
                const std::int64_t at = (row * p.width + column) * p.channels + c;
                const long double value =
                    p.dtype == Dtype::u8 ? static_cast<const std::uint8_t*>(in)[at] : static_cast<const float*>(in)[at];
                sum += value * mask[static_cast<std::size_t>((p.mask_height - 1 - a) * p.mask_width + p.mask_width - 1 - b)];
            }
        }
        const std::int64_t at = (y * p.width + x) * p.channels + c;
        const long double got =
            p.dtype == Dtype::u8 ? static_cast<const std::uint8_t*>(out)[at] : static_cast<const float*>(out)[at];
        const double error = static_cast<double>(std::abs(got - sum));
        largest = error <= largest ? largest : error;  // a NaN counts
    }
    return largest;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 7) {
        std::fprintf(
            stderr,
            "usage: %s HEIGHT WIDTH CHANNELS f32|u8 MASK_HEIGHT MASK_WIDTH [dense|separable|rank2] [ALGORITHM|auto] [THREADS]\n",
            argv[0]);
        return 2;
    }
    ImageProblem p;
    p.height = std::atoll(argv[1]);
    p.width = std::atoll(argv[2]);
    p.channels = std::atoll(argv[3]);
    p.dtype = std::string(argv[4]) == "u8" ? Dtype::u8 : Dtype::f32;
    p.mask_height = std::atoll(argv[5]);
    p.mask_width = std::atoll(argv[6]);
    const std::string kind = argc > 7 ? argv[7] : "dense";
    const std::string algorithm = argc > 8 && std::string(argv[8]) != "auto" ? argv[8] : "";
    const int threads = argc > 9 ? std::atoi(argv[9]) : 0;

    std::mt19937_64 random(1);
    const std::vector<float> mask = draw_mask(p, kind == "dense" ? 0 : (kind == "separable" ? 1 : 2), random);
    const ImagePlan plan = make_image_plan(p, mask, {.device = "cpu", .algorithm = algorithm, .threads = threads});
    const std::size_t bytes = static_cast<std::size_t>(image_input_extent(p)) * size_of(p.dtype);
    const auto in = core::allocate(bytes, "in"), out = core::allocate(bytes, "out");
    const auto workspace = core::allocate(std::max<std::size_t>(plan.workspace_bytes(), 64), "workspace");
    p.dtype == Dtype::u8 ? fill<std::uint8_t>(in.get(), image_input_extent(p), random)
                         : fill<float>(in.get(), image_input_extent(p), random);
    const auto run = [&] { plan.execute(out.get(), in.get(), {workspace.get(), plan.workspace_bytes()}); };
    run();
    const double error = largest_error(p, out.get(), in.get(), mask, random);
    if (!(error <= (p.dtype == Dtype::u8 ? 0.51 : 1e-5))) {
        std::fprintf(stderr, "error: an output is wrong by %g\n", error);
        return 1;
    }
    std::vector<double> ours, plain, streaming;
    const double until = now() + kSeconds;
    while (static_cast<int>(ours.size()) < kLeastRuns || now() < until) {
        const double t0 = now();
        run();
        const double t1 = now();
        cli::copy(out.get(), in.get(), bytes, plan.threads());
        const double t2 = now();
        cli::streaming_copy(out.get(), in.get(), bytes, plan.threads());
        const double t3 = now();
        ours.push_back(t1 - t0);
        plain.push_back(t2 - t1);
        streaming.push_back(t3 - t2);
    }
    std::fprintf(stderr, "%s", plan.explain().c_str());
    const double copy = std::min(median(plain), median(streaming));
    std::printf(
        "{\"algorithm\": \"%s\", \"ms\": %.3f, \"copy_ms\": %.3f, \"share_of_copy\": %.4f, \"best_ms\": %.3f, \"predicted_ms\": "
        "%.3f, "
        "\"error\": %.2g}\n",
        plan.algorithm().c_str(), 1e3 * median(ours), 1e3 * copy, copy / median(ours),
        1e3 * *std::min_element(ours.begin(), ours.end()), 1e3 * plan.predicted_seconds(), error);
    return 0;
} catch (const Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
