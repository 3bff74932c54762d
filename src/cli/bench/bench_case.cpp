#include "cli/bench/bench_case.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "cli/shared/copy_speed.hpp"
#include "core/choice/engine.hpp"
#include "core/problem/half.hpp"
#include "core/plan/parallel.hpp"
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

// Both ends, the middle and a few random places; all of it if that is not much more work than 2^26 multiply-adds and few enough
// to keep their sums.
std::vector<ReferenceBlocks::Block> blocks_to_check(const Problem& problem) {
    constexpr std::int64_t kWork = std::int64_t{1} << 26;
    constexpr std::int64_t kMostOutputs = std::int64_t{1} << 22;
    constexpr std::int64_t kBlocks = 8;
    const std::int64_t outputs = output_length(problem);
    const std::int64_t rows = problem.batch;
    const std::int64_t allowed = std::min(kWork / problem.taps, kMostOutputs);
    std::vector<ReferenceBlocks::Block> blocks;
    const auto add = [&](std::int64_t row, std::int64_t first, std::int64_t count) {
        blocks.push_back({row, first, count, row * outputs + first});
    };
    if (outputs <= allowed / rows) {
        for (std::int64_t row = 0; row < rows; ++row) add(row, 0, outputs);
        return blocks;
    }
    const std::int64_t size = std::min(outputs, std::max<std::int64_t>(16, allowed / kBlocks));
    const std::int64_t last = outputs - size;
    add(0, 0, size);
    add(rows / 2, last / 2, size);
    add(rows - 1, last, size);
    Random random(static_cast<std::uint64_t>(outputs + problem.taps + rows));
    const auto place = [&](std::int64_t most) {
        return static_cast<std::int64_t>((random.uniform() + 1) / 2 * static_cast<double>(most));
    };
    while (static_cast<std::int64_t>(blocks.size()) < kBlocks) {
        const std::int64_t row = place(rows - 1);
        add(row, place(last), size);
    }
    return blocks;
}

// The block as a problem of its own: its window of the row with zeros outside, fully overlapping outputs only.
struct Window {
    Problem problem;
    Bytes signal;
    const std::byte* taps;
};

Window window_of(const Problem& problem, const BenchData& data, const ReferenceBlocks::Block& block) {
    Window window{.problem = problem, .signal = {}, .taps = data.taps.data()};
    window.problem.length = block.count + problem.taps - 1;
    window.problem.mode = Mode::valid;
    window.problem.origin.reset();
    window.problem.batch = 1;
    window.problem.filters = Filters::shared;
    window.problem.filter_count = 0;
    const std::int64_t filter = block.row % core::resolve(problem).filters;
    window.taps += static_cast<std::size_t>(filter * problem.taps) * size_of(taps_dtype(problem));
    const std::size_t element = size_of(problem.dtype);
    window.signal = Bytes(static_cast<std::size_t>(window.problem.length) * element);
    std::memset(window.signal.data(), 0, window.signal.size());
    const std::int64_t start = block.first - origin(problem);
    const std::int64_t from = std::max<std::int64_t>(start, 0);
    const std::int64_t to = std::min(start + window.problem.length, problem.length);
    if (from < to) {
        std::memcpy(window.signal.data() + static_cast<std::size_t>(from - start) * element,
                    data.signal.data() + static_cast<std::size_t>(block.row * problem.length + from) * element,
                    static_cast<std::size_t>(to - from) * element);
    }
    return window;
}

// Elements as numbers; the 16-bit types as what their bits mean.
template <class T, Dtype kType>
struct Elements {
    const T* data;
    [[nodiscard]] auto at(std::size_t i) const {
        if constexpr (kType == Dtype::f16) {
            return core::from_f16(data[i]);
        } else if constexpr (kType == Dtype::bf16) {
            return core::from_bf16(data[i]);
        } else {
            return data[i];
        }
    }
    [[nodiscard]] std::complex<long double> operator()(std::size_t i) const {
        if constexpr (kIsComplex<T>) {
            return {data[i].real(), data[i].imag()};
        } else {
            return {static_cast<long double>(at(i)), 0};
        }
    }
    [[nodiscard]] bool is_nan(std::size_t i) const { return at(i) != at(i); }
};

template <class Visitor>
void visit_element(Dtype type, const std::byte* bytes, Visitor visitor) {
    if (type == Dtype::f16) return visitor(Elements<std::uint16_t, Dtype::f16>{reinterpret_cast<const std::uint16_t*>(bytes)});
    if (type == Dtype::bf16) return visitor(Elements<std::uint16_t, Dtype::bf16>{reinterpret_cast<const std::uint16_t*>(bytes)});
    visit_dtype(type,
                [&]<class T>(std::type_identity<T>) { visitor(Elements<T, dtype_of<T>>{reinterpret_cast<const T*>(bytes)}); });
}

// Rounding of k random terms grows like sqrt(k) eps; a single wrong tap costs 1 / sqrt(k), far above it. 16-bit types are summed
// in f32 and rounded once.
double tolerance_of(const Problem& problem) {
    const Dtype real = real_part_of(problem.dtype);
    const double eps = real == Dtype::f64 ? 0x1p-52 : 0x1p-23;
    const double stored = real == Dtype::f16 ? 0x1p-11 : real == Dtype::bf16 ? 0x1p-8 : 0;
    return stored + eps * (16 + std::sqrt(static_cast<double>(problem.taps)));
}

// body(first, last) for pieces of [0, count), by all threads: drawing or looking through a GiB takes one thread longer than
// measuring what it is for.
constexpr std::int64_t kPiece = std::int64_t{1} << 20;

template <class Body>
void in_pieces(std::int64_t count, const Body& body) {
    core::parallel_for((count + kPiece - 1) / kPiece, available_threads(),
                       [&](std::int64_t piece, int /*slot*/) { body(piece * kPiece, std::min((piece + 1) * kPiece, count)); });
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

Bytes random_bytes(Dtype dtype, std::int64_t count, std::uint64_t seed) {
    Bytes bytes(static_cast<std::size_t>(count) * size_of(dtype));
    in_pieces(count, [&](std::int64_t first, std::int64_t last) {
        Random random(seed + (static_cast<std::uint64_t>(first / kPiece) << 32));
        if (dtype == Dtype::f16 || dtype == Dtype::bf16) {
            auto* elements = reinterpret_cast<std::uint16_t*>(bytes.data());
            for (std::int64_t i = first; i < last; ++i) {
                elements[i] = dtype == Dtype::f16 ? core::to_f16(random.uniform()) : core::to_bf16(random.uniform());
            }
            return;
        }
        visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
            auto* elements = reinterpret_cast<T*>(bytes.data());
            for (std::int64_t i = first; i < last; ++i) elements[i] = random_element<T>(random);
        });
    });
    return bytes;
}

BenchData make_bench_data(const Problem& problem, bool with_copy) {
    BenchData data;
    data.signal = random_bytes(problem.dtype, input_extent(problem), 1);
    data.taps = random_bytes(taps_dtype(problem), taps_extent(problem), 2);
    data.output = Bytes(static_cast<std::size_t>(output_extent(problem)) * size_of(output_dtype(problem)));
    if (!with_copy) return data;
    data.copied = Bytes(data.signal.size());
    std::memset(data.copied.data(), 0xFF, data.copied.size());
    return data;
}

void round_taps(BenchData& data, const Problem& problem) {
    auto* taps = reinterpret_cast<float*>(data.taps.data());
    for (std::int64_t i = 0; i < taps_extent(problem); ++i) {
        taps[i] = problem.dtype == Dtype::f16 ? core::from_f16(core::to_f16(taps[i])) : core::from_bf16(core::to_bf16(taps[i]));
    }
}

std::string CheckResult::describe() const {
    char text[64];
    std::snprintf(text, sizeof(text), "error %.1e, allowed %.1e", std::abs(error), tolerance);
    return text + (unwritten > 0 ? ", " + std::to_string(unwritten) + " outputs unwritten" : std::string());
}

ReferenceBlocks::ReferenceBlocks(const Problem& problem, const BenchData& data)
    : problem_(problem), blocks_(blocks_to_check(problem)) {
    exact_.resize(blocks_.size());
    core::parallel_for(static_cast<std::int64_t>(blocks_.size()), available_threads(), [&](std::int64_t index, int /*slot*/) {
        const auto b = static_cast<std::size_t>(index);
        const Window window = window_of(problem, data, blocks_[b]);
        if (is_integer(problem.dtype)) {
            exact_[b] = {{}, {}, reference::integer_sums(window.problem, window.signal.data(), window.taps)};
            return;
        }
        auto sums = reference::sums(window.problem, window.signal.data(), window.taps);
        if (problem.clamp) {
            const auto low = static_cast<long double>(problem.clamp->low);
            const auto high = static_cast<long double>(problem.clamp->high);
            for (auto& sum : sums.real) sum = std::clamp(sum, low, high);
        }
        exact_[b] = {std::move(sums.real), is_complex(problem.dtype) ? std::move(sums.imag) : std::vector<long double>{}, {}};
    });
}

CheckResult ReferenceBlocks::compare(Accuracy accuracy, const std::function<const std::byte*(const Block&)>& outputs_of) const {
    const Dtype type = output_dtype(problem_);
    long double errors = 0;
    long double squares = 0;
    double wrong = 0;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const std::byte* outputs = outputs_of(blocks_[b]);
        const Exact& exact = exact_[b];
        const auto count = static_cast<std::size_t>(blocks_[b].count);
        if (is_integer(problem_.dtype)) {
            const auto* out = reinterpret_cast<const std::int64_t*>(outputs);
            for (std::size_t i = 0; i < count; ++i) wrong += out[i] == exact.integers[i] ? 0 : 1;
            continue;
        }
        visit_element(type, outputs, [&](const auto& element) {
            for (std::size_t i = 0; i < count; ++i) {
                const auto value = element(i);
                const long double dr = value.real() - exact.real[i];
                const long double di = exact.imag.empty() ? 0 : value.imag() - exact.imag[i];
                errors += dr * dr + di * di;
                squares += exact.real[i] * exact.real[i] + (exact.imag.empty() ? 0 : exact.imag[i] * exact.imag[i]);
            }
        });
    }
    if (is_integer(problem_.dtype)) return {.error = wrong, .tolerance = 0, .unwritten = 0};
    const double tolerance = tolerance_of(problem_);
    // Where a clamp leaves nothing but zeros there is nothing to divide by.
    return {.error = static_cast<double>(std::sqrt(squares > 0 ? errors / squares : errors)),
            .tolerance = accuracy == Accuracy::fast ? std::max(tolerance, 1e-3) : tolerance,
            .unwritten = 0};
}

CheckResult ReferenceBlocks::compare(Accuracy accuracy, const std::byte* output) const {
    const Dtype type = output_dtype(problem_);
    const std::size_t element = size_of(type);
    CheckResult result =
        compare(accuracy, [&](const Block& block) { return output + static_cast<std::size_t>(block.offset) * element; });
    if (is_integer(type)) return result;
    std::atomic<std::int64_t> unwritten{0};
    visit_element(type, output, [&](const auto& value) {
        in_pieces(output_length(problem_) * problem_.batch, [&](std::int64_t first, std::int64_t last) {
            std::int64_t found = 0;
            for (std::int64_t i = first; i < last; ++i) found += value.is_nan(static_cast<std::size_t>(i)) ? 1 : 0;
            unwritten += found;
        });
    });
    result.unwritten = unwritten;
    return result;
}

CheckResult check(const Plan& plan, const BenchData& data, const ReferenceBlocks& expected) {
    std::memset(data.output.data(), 0xFF, data.output.size());  // all ones: NaN in every floating type
    plan.execute(data.output.data(), data.signal.data());
    return expected.compare(plan.state().request.accuracy, data.output.data());
}

CaseTimes time_case(const Plan& plan, const BenchData& data, double seconds) {
    const Bytes workspace(plan.workspace_bytes());
    return time_beside_copy([&] { plan.execute(data.output.data(), data.signal.data(), workspace.span()); }, data.copied,
                            data.signal, plan.threads(), plan.predicted_seconds(), seconds);
}

CaseTimes time_beside_copy(const std::function<void()>& run, const Bytes& copied, const Bytes& in, int threads,
                           double predicted_seconds, double seconds) {
    const std::size_t bytes = in.size();
    Measured convolution([&] { run(); });
    Measured plain([&] { copy(copied.data(), in.data(), bytes, threads); });
    Measured streaming([&] { streaming_copy(copied.data(), in.data(), bytes, threads); });
    constexpr int kLeastRuns = 3;
    constexpr int kMostRuns = 10000;
    // Few runs of a slow case still give the copy a median of 15.
    const int copies_a_turn = predicted_seconds * 15 > seconds ? 5 : 1;
    const auto start = Clock::now();
    for (int turn = 0; turn < kMostRuns && (turn < kLeastRuns || seconds_since(start) < seconds); ++turn) {
        convolution.measure();
        for (int i = 0; i < copies_a_turn; ++i) plain.measure();
        for (int i = 0; i < copies_a_turn; ++i) streaming.measure();
    }
    return {convolution.timing(), plain.timing().median, streaming.timing().median};
}

double textbook_flops(const Problem& problem) {
    const double products =
        static_cast<double>(problem.taps) * static_cast<double>(output_length(problem)) * static_cast<double>(problem.batch);
    const double components = is_complex(problem.dtype) ? (problem.complex_taps ? 4 : 2) : 1;
    return 2 * products * components;
}

}  // namespace tapline::cli
