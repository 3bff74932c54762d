#include "cli/bench_case.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "cli/copy_speed.hpp"
#include "core/engine.hpp"
#include "reference/reference.hpp"

namespace tapline::cli {
namespace {

// xorshift64* (Vigna, 2016): 2^28 numbers in a fraction of a second.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t bits() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545F4914F6CDD1DU;
    }
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1; }

private:
    std::uint64_t state_;
};

// Integers of 7 bits: sums of 2^48 products stay within 63.
template <class T>
T random_element(Random& random) {
    if constexpr (kIsComplex<T>) {
        using Real = typename T::value_type;
        const auto real = static_cast<Real>(random.uniform());
        return T(real, static_cast<Real>(random.uniform()));
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(random.uniform());
    } else if constexpr (std::is_same_v<T, bool>) {
        return (random.bits() >> 63) != 0;
    } else if constexpr (std::is_unsigned_v<T>) {
        return static_cast<T>(random.bits() >> 57);
    } else {
        return static_cast<T>(static_cast<std::int64_t>(random.bits() >> 57) - 64);
    }
}

Bytes random_bytes(Dtype dtype, std::int64_t count, std::uint64_t seed) {
    Bytes bytes(static_cast<std::size_t>(count) * size_of(dtype));
    Random random(seed);
    visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
        auto* elements = reinterpret_cast<T*>(bytes.data());
        for (std::int64_t i = 0; i < count; ++i) elements[i] = random_element<T>(random);
    });
    return bytes;
}

struct Block {
    std::int64_t first;
    std::int64_t count;
};

// Both ends, the middle and a few random places; all of it if that is not much more work than 2^26 multiply-adds.
std::vector<Block> blocks_to_check(std::int64_t outputs, std::int64_t k) {
    constexpr std::int64_t kWork = std::int64_t{1} << 26;
    constexpr std::int64_t kBlocks = 8;
    if (outputs <= kWork / k) return {{0, outputs}};
    const std::int64_t size = std::clamp<std::int64_t>(kWork / kBlocks / k, 16, (outputs + kBlocks - 1) / kBlocks);
    const std::int64_t last = outputs - size;
    std::vector<Block> blocks = {{0, size}, {last / 2, size}, {last, size}};
    Random random(static_cast<std::uint64_t>(outputs + k));
    while (static_cast<std::int64_t>(blocks.size()) < kBlocks) {
        blocks.push_back({static_cast<std::int64_t>((random.uniform() + 1) / 2 * static_cast<double>(last)), size});
    }
    return blocks;
}

// The block as a problem of its own: its window of the signal with zeros outside, fully overlapping outputs only.
struct Window {
    Problem problem;
    Bytes signal;
};

Window window_of(const Problem& problem, const Bytes& signal, Block block) {
    Window window{.problem = problem, .signal = {}};
    window.problem.length = block.count + problem.taps - 1;
    window.problem.mode = Mode::valid;
    window.problem.origin.reset();
    const std::size_t element = size_of(problem.dtype);
    window.signal = Bytes(static_cast<std::size_t>(window.problem.length) * element);
    std::memset(window.signal.data(), 0, window.signal.size());
    const std::int64_t start = block.first - origin(problem);
    const std::int64_t from = std::max<std::int64_t>(start, 0);
    const std::int64_t to = std::min(start + window.problem.length, problem.length);
    if (from < to) {
        std::memcpy(window.signal.data() + static_cast<std::size_t>(from - start) * element,
                    signal.data() + static_cast<std::size_t>(from) * element, static_cast<std::size_t>(to - from) * element);
    }
    return window;
}

struct Sums {
    long double error = 0;
    long double reference = 0;
};

void compare_floating(const Window& window, const BenchData& data, Dtype out_dtype, Block block, Sums& sums) {
    const auto expected = reference::sums(window.problem, window.signal.data(), data.taps.data());
    visit_dtype(out_dtype, [&]<class T>(std::type_identity<T>) {
        const auto* out = reinterpret_cast<const T*>(data.output.data()) + block.first;
        for (std::int64_t i = 0; i < block.count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            long double imag = 0;
            long double real = 0;
            if constexpr (kIsComplex<T>) {
                real = out[i].real();
                imag = out[i].imag();
            } else {
                real = static_cast<long double>(out[i]);
            }
            const long double dr = real - expected.real[at];
            const long double di = imag - expected.imag[at];
            sums.error += dr * dr + di * di;
            sums.reference += expected.real[at] * expected.real[at] + expected.imag[at] * expected.imag[at];
        }
    });
}

double wrong_integers(const Window& window, const BenchData& data, Block block) {
    const auto expected = reference::integer_sums(window.problem, window.signal.data(), data.taps.data());
    const auto* out = reinterpret_cast<const std::int64_t*>(data.output.data()) + block.first;
    double wrong = 0;
    for (std::int64_t i = 0; i < block.count; ++i) wrong += out[i] == expected[static_cast<std::size_t>(i)] ? 0 : 1;
    return wrong;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// One of the three things that take turns.
template <class Run>
class Measured {
public:
    explicit Measured(Run run) : run_(run) {
        constexpr double kLeastSeconds = 50e-6;  // a thousand times the clock's own cost
        run_();                                  // touches and wakes what sleeps
        for (const auto start = Clock::now(); seconds_since(start) < kLeastSeconds / 4;) run_();
        auto start = Clock::now();
        run_();
        const double once = seconds_since(start);
        repeats_ = std::clamp(static_cast<int>(kLeastSeconds / std::max(once, 1e-9)), 1, 1 << 20);
    }
    void measure() {
        const auto start = Clock::now();
        for (int i = 0; i < repeats_; ++i) run_();
        seconds_.push_back(seconds_since(start) / repeats_);
    }
    [[nodiscard]] Timing timing() {
        std::ranges::sort(seconds_);
        return {seconds_[seconds_.size() / 2], seconds_.front(), seconds_.back(), static_cast<int>(seconds_.size())};
    }

private:
    Run run_;
    int repeats_ = 1;
    std::vector<double> seconds_;
};

}  // namespace

BenchData make_bench_data(const Problem& problem) {
    BenchData data;
    data.signal = random_bytes(problem.dtype, problem.length, 1);
    data.taps = random_bytes(taps_dtype(problem), problem.taps, 2);
    data.output = Bytes(static_cast<std::size_t>(output_extent(problem)) * size_of(output_dtype(problem)));
    data.copied = Bytes(data.signal.size());
    std::memset(data.copied.data(), 0xFF, data.copied.size());
    return data;
}

CheckResult check(const Plan& plan, const BenchData& data) {
    const Problem& problem = plan.problem();
    std::memset(data.output.data(), 0xFF, data.output.size());  // all ones: NaN in every floating type
    plan.execute(data.output.data(), data.signal.data());
    const bool integers = is_integer(problem.dtype);
    Sums sums;
    double wrong = 0;
    for (const Block block : blocks_to_check(plan.output_length(), problem.taps)) {
        const Window window = window_of(problem, data.signal, block);
        if (integers) {
            wrong += wrong_integers(window, data, block);
        } else {
            compare_floating(window, data, output_dtype(problem), block, sums);
        }
    }
    if (integers) return {wrong, 0};
    // Rounding of k random terms grows like sqrt(k) eps; a single wrong tap costs 1 / sqrt(k), far above it.
    const double eps = real_part_of(problem.dtype) == Dtype::f64 ? 0x1p-52 : 0x1p-23;
    const double tolerance = eps * (16 + std::sqrt(static_cast<double>(problem.taps)));
    const auto error = static_cast<double>(std::sqrt(sums.error / sums.reference));
    return {error, plan.state().request.accuracy == Accuracy::fast ? std::max(tolerance, 1e-3) : tolerance};
}

CaseTimes time_case(const Plan& plan, const BenchData& data, double seconds) {
    const int threads = plan.threads();
    const Bytes workspace(plan.workspace_bytes());
    const std::size_t bytes = data.signal.size();
    Measured convolution([&] { plan.execute(data.output.data(), data.signal.data(), workspace.span()); });
    Measured plain([&] { copy(data.copied.data(), data.signal.data(), bytes, threads); });
    Measured streaming([&] { streaming_copy(data.copied.data(), data.signal.data(), bytes, threads); });
    constexpr int kLeastRuns = 3;
    constexpr int kMostRuns = 10000;
    // Few runs of a slow case still give the copy a median of 15.
    const int copies_a_turn = plan.predicted_seconds() * 15 > seconds ? 5 : 1;
    const auto start = Clock::now();
    for (int run = 0; run < kMostRuns && (run < kLeastRuns || seconds_since(start) < seconds); ++run) {
        convolution.measure();
        for (int i = 0; i < copies_a_turn; ++i) plain.measure();
        for (int i = 0; i < copies_a_turn; ++i) streaming.measure();
    }
    return {convolution.timing(), plain.timing().median, streaming.timing().median};
}

double textbook_flops(const Problem& problem) {
    const double products = static_cast<double>(problem.taps) * static_cast<double>(output_length(problem));
    const double components = is_complex(problem.dtype) ? (problem.complex_taps ? 4 : 2) : 1;
    return 2 * products * components;
}

}  // namespace tapline::cli
