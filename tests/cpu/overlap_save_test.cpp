// Both overlap-save algorithms against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/choice/engine.hpp"
#include "reference/reference.hpp"
#include "tapline/convolve.hpp"
#include "tapline/info.hpp"
#include "tapline/plan.hpp"

namespace tapline {
namespace {

constexpr const char* kAlgorithms[] = {"overlap_save", "partitioned"};

template <class T>
using Real = typename detail::RealOf<T>::type;
template <class T>
constexpr int kParts = sizeof(T) / sizeof(Real<T>);

std::string describe(const Problem& p, const std::string& algorithm) {
    return algorithm + " n=" + std::to_string(p.length) + " k=" + std::to_string(p.taps) + " batch=" + std::to_string(p.batch) +
           " " + to_string(p.mode) + " " + to_string(p.boundary) + " " + to_string(p.dtype) +
           (p.complex_taps ? " complex taps " : " ") + to_string(p.filters) + " " + to_string(p.operation);
}

template <class T>
std::vector<T> random_values(std::int64_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<T> values(static_cast<std::size_t>(count));
    auto* parts = reinterpret_cast<Real<T>*>(values.data());
    for (std::size_t i = 0; i < values.size() * kParts<T>; ++i) { parts[i] = static_cast<Real<T>>(normal(random)); }
    return values;
}

template <class T>
std::vector<T> run(const Problem& problem, const void* taps, const std::vector<T>& in, const std::string& algorithm,
                   int threads = 1) {
    const Plan plan = make_plan(problem, taps, {.device = "cpu", .algorithm = algorithm, .threads = threads});
    std::vector<T> out(static_cast<std::size_t>(output_extent(problem)), T(std::numeric_limits<Real<T>>::quiet_NaN()));
    plan.execute(static_cast<void*>(out.data()), static_cast<const void*>(in.data()));
    return out;
}

template <class R>
long double norm_of(const R* values, std::size_t count) {
    long double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (std::isfinite(values[i])) { sum += static_cast<long double>(values[i]) * values[i]; }
    }
    return std::sqrt(sum);
}

// The L2 error over all outputs against the L2 norm of the sums of magnitudes plus |taps| |in| (few outputs share the
// error of a transform that saw more), and non-finite outputs one by one.
template <class T>
void compare(const Problem& problem, const std::vector<T>& out, const std::vector<T>& expected, const reference::Sums& sums,
             long double norms, const std::string& what) {
    constexpr double kTolerance = sizeof(Real<T>) == 4 ? 4e-7 : 8e-16;
    const std::int64_t length = output_length(problem);
    const std::int64_t sample = problem.output_sample_stride.value_or(1);
    const std::int64_t stride = problem.output_row_stride.value_or(length * sample);
    long double error = 0, norm = 0;
    for (std::int64_t row = 0; row < problem.batch; ++row) {
        for (std::int64_t o = 0; o < length; ++o) {
            const std::int64_t at = row * stride + o * sample;
            const auto* got = reinterpret_cast<const Real<T>*>(&out[static_cast<std::size_t>(at)]);
            const auto* want = reinterpret_cast<const Real<T>*>(&expected[static_cast<std::size_t>(at)]);
            for (int part = 0; part < kParts<T>; ++part) {
                if (!std::isfinite(want[part])) {
                    ASSERT_EQ(std::isnan(got[part]), std::isnan(want[part])) << what << " row " << row << " output " << o;
                    if (!std::isnan(want[part])) { ASSERT_EQ(got[part], want[part]) << what << " row " << row << " output " << o; }
                    continue;
                }
                const long double difference = static_cast<long double>(got[part]) - want[part];
                ASSERT_TRUE(std::isfinite(got[part])) << what << " row " << row << " output " << o << " part " << part;
                error += difference * difference;
            }
            const auto index = static_cast<std::size_t>(row * length + o);
            const long double magnitude = std::max(sums.real_magnitude[index], sums.imag_magnitude[index]);
            if (std::isfinite(magnitude)) { norm += magnitude * magnitude; }
        }
    }
    ASSERT_LE(std::sqrt(error), kTolerance * (std::sqrt(norm) + norms)) << what;
}

template <class T>
void check(const Problem& problem, const void* taps, const std::vector<T>& in) {
    std::vector<T> expected(static_cast<std::size_t>(output_extent(problem)));
    reference::convolve(problem, expected.data(), in.data(), taps);
    const reference::Sums sums = reference::sums(problem, in.data(), taps);
    const auto tap_values = static_cast<std::size_t>(taps_extent(problem)) * (problem.complex_taps ? 2 : 1);
    const long double norms = norm_of(static_cast<const Real<T>*>(taps), tap_values) *
                              norm_of(reinterpret_cast<const Real<T>*>(in.data()), in.size() * kParts<T>);
    for (const char* const algorithm : kAlgorithms) {
        const std::vector<T> out = run(problem, taps, in, algorithm);
        compare(problem, out, expected, sums, norms, describe(problem, algorithm));
        if (testing::Test::HasFatalFailure()) { return; }
    }
}

template <class T>
void check_random(Problem problem, std::uint64_t seed = 1) {
    problem.dtype = dtype_of<T>;
    const auto in = random_values<T>(input_extent(problem), seed);
    if (problem.complex_taps) {
        const auto taps = random_values<std::complex<Real<T>>>(taps_extent(problem), seed + 1);
        check<T>(problem, taps.data(), in);
    } else {
        const auto taps = random_values<Real<T>>(taps_extent(problem), seed + 1);
        check<T>(problem, taps.data(), in);
    }
}

TEST(OverlapSave, LengthsAndTaps) {
    for (const std::int64_t n : {1, 2, 31, 241, 256, 257, 1000, 5003}) {
        for (const std::int64_t k : {1, 2, 3, 32, 127, 240, 241, 242, 255, 256, 257, 1000, 3001}) {
            for (const Mode mode : {Mode::full, Mode::same, Mode::valid, Mode::causal, Mode::leading}) {
                if (mode == Mode::valid && k > n) { continue; }
                if (n * k > (mode == Mode::full ? 3'000'000 : 200'000)) { continue; }
                check_random<float>({.length = n, .taps = k, .mode = mode});
            }
        }
    }
}

TEST(OverlapSave, TypesAndOperations) {
    for (const Operation operation : {Operation::convolution, Operation::correlation}) {
        for (const std::int64_t k : {5, 300, 1025}) {
            const Problem problem{.length = 2100, .taps = k, .mode = Mode::same, .operation = operation};
            check_random<float>(problem);
            check_random<double>(problem);
            check_random<std::complex<float>>(problem);
            check_random<std::complex<double>>(problem);
            Problem complex_taps = problem;
            complex_taps.complex_taps = true;
            check_random<std::complex<float>>(complex_taps);
            check_random<std::complex<double>>(complex_taps);
        }
    }
}

TEST(OverlapSave, Boundaries) {
    for (const Boundary boundary :
         {Boundary::zero, Boundary::constant, Boundary::nearest, Boundary::reflect, Boundary::mirror, Boundary::wrap}) {
        for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{700, 65}, {3000, 511}, {40, 601}, {1, 700}}) {
            Problem problem{.length = n, .taps = k, .mode = Mode::full, .boundary = boundary, .constant = {2.5, -1}};
            check_random<std::complex<double>>(problem);
            problem.constant = 2.5;
            problem.mode = Mode::same;
            problem.origin = -3 * n;  // far outside
            check_random<float>(problem);
            problem.complex_taps = true;
            check_random<std::complex<float>>(problem);
        }
    }
}

TEST(OverlapSave, BatchesAndStrides) {
    for (const Filters filters : {Filters::shared, Filters::per_row}) {
        for (const std::int64_t batch : {2, 3, 5}) {
            for (const std::int64_t k : {7, 257}) {
                Problem problem{.length = 1500, .taps = k, .batch = batch, .filters = filters, .mode = Mode::same};
                check_random<float>(problem);
                check_random<std::complex<float>>(problem);
                problem.taps_row_stride = k + 3;
                problem.input_row_stride = 1, problem.input_sample_stride = batch;  // interleaved
                problem.output_row_stride = 1, problem.output_sample_stride = batch;
                check_random<float>(problem);
                check_random<std::complex<double>>(problem);
                problem.input_row_stride = 2 * 1500 + 5, problem.input_sample_stride = 2;
                problem.output_row_stride = 3 * 1500 + 1, problem.output_sample_stride = 3;
                check_random<double>(problem);
            }
        }
    }
}

// Long filters of few taps that are not zero, so that the expected sums are quick.
template <class T>
void check_sparse(const Problem& problem, const std::vector<std::int64_t>& where) {
    const auto in = random_values<T>(problem.batch * problem.length, 1);
    std::vector<T> taps(static_cast<std::size_t>(problem.taps));
    for (std::size_t i = 0; i < where.size(); ++i) {
        taps[static_cast<std::size_t>(where[i])] = static_cast<T>(1.5 - static_cast<double>(i));
    }
    const std::int64_t length = output_length(problem), shift = problem.taps - 1 - origin(problem);
    for (const char* const algorithm : kAlgorithms) {
        const auto out = run(problem, taps.data(), in, algorithm, 2);
        double error = 0;
        for (std::int64_t row = 0; row < problem.batch; ++row) {
            for (std::int64_t o = 0; o < length; ++o) {
                double sum = 0;
                for (const std::int64_t t : where) {
                    const std::int64_t at = o + shift - t;  // convolution
                    if (at < 0 || at >= problem.length) { continue; }
                    sum += static_cast<double>(taps[static_cast<std::size_t>(t)]) *
                           in[static_cast<std::size_t>(row * problem.length + at)];
                }
                error = std::max(error, std::abs(sum - out[static_cast<std::size_t>(row * length + o)]));
                ASSERT_FALSE(std::isnan(out[static_cast<std::size_t>(row * length + o)]));
            }
        }
        EXPECT_LE(error, sizeof(T) == 4 ? 2e-5 : 4e-14) << describe(problem, algorithm);
    }
}

TEST(OverlapSave, LongFilters) {
    check_sparse<float>({.length = 300000, .taps = 1, .mode = Mode::same}, {0});
    check_sparse<float>({.length = 140000, .taps = 30000, .batch = 3, .mode = Mode::same}, {0, 77, 29999});
    check_sparse<double>({.length = 200000, .taps = 150000, .mode = Mode::full, .dtype = Dtype::f64}, {0, 100, 131072, 149999});
    check_sparse<float>({.length = 700000, .taps = 600000, .mode = Mode::same}, {1, 300000, 599998});
    check_sparse<float>({.length = 1000, .taps = 1000000, .mode = Mode::full}, {0, 4096, 999999});
}

TEST(OverlapSave, Epilogue) {
    Problem problem{.length = 900, .taps = 33, .mode = Mode::same, .output_dtype = Dtype::i16};
    problem.scale = 1000, problem.bias = 3, problem.clamp = Clamp{-2000, 3000};
    const auto in = random_values<float>(900, 1);
    const auto taps = random_values<float>(33, 2);
    std::vector<std::int16_t> expected(900);
    reference::convolve(problem, expected.data(), in.data(), taps.data());
    for (const char* const algorithm : kAlgorithms) {
        std::vector<std::int16_t> out(900, -1);
        make_plan(problem, taps.data(), {.device = "cpu", .algorithm = algorithm}).execute(out.data(), in.data());
        for (std::size_t i = 0; i < 900; ++i) { ASSERT_LE(std::abs(out[i] - expected[i]), 1); }
    }
}

TEST(OverlapSave, NonFiniteSamplesReachTheirOutputsOnly) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    constexpr float kInf = std::numeric_limits<float>::infinity();
    std::mt19937_64 random(11);
    for (int run = 0; run < 36; ++run) {  // infinities in long double are slow: small cases
        const std::int64_t n = 1 + static_cast<std::int64_t>(random() % 900);
        const std::int64_t k = 1 + static_cast<std::int64_t>(random() % (run % 9 == 0 ? 700 : 60));
        Problem problem{.length = n, .taps = k, .batch = 1 + run % 3, .mode = run % 2 == 0 ? Mode::same : Mode::full};
        problem.boundary = static_cast<Boundary>(run % 6);
        problem.constant = run % 12 == 1 ? kNan : 1.0;
        const auto poison = [&](float* values, std::int64_t count, bool sparse) {
            for (std::uint64_t i = 0, hits = sparse ? 1 + random() % 4 : 40; i < hits; ++i) {
                values[random() % static_cast<std::uint64_t>(count)] = std::array{kNan, kInf, -kInf}[random() % 3];
            }
        };
        auto taps = random_values<float>(taps_extent(problem), random());
        if (run % 5 == 0) { std::fill(taps.begin() + k / 2, taps.end(), 0.0F); }  // 0 * infinity is NaN
        auto in = random_values<float>(input_extent(problem), random());
        poison(in.data(), static_cast<std::int64_t>(in.size()), run % 4 != 0);
        if (run % 7 == 3) { poison(taps.data(), k, true); }
        if (run % 10 == 7) {  // whole runs of infinities, under taps of one sign
            for (float& tap : taps) { tap = std::abs(tap) + 1; }
            for (std::size_t i = in.size() / 3; i < in.size(); ++i) { in[i] = i < in.size() / 2 || run % 20 == 7 ? kInf : -kInf; }
        }
        problem.dtype = Dtype::f32;
        check<float>(problem, taps.data(), in);
        if (HasFatalFailure()) { return; }

        problem.dtype = Dtype::complex64;
        problem.complex_taps = run % 2 == 1;
        auto complex_in = random_values<std::complex<float>>(input_extent(problem), random());
        poison(reinterpret_cast<float*>(complex_in.data()), static_cast<std::int64_t>(2 * complex_in.size()), true);
        auto complex_taps = random_values<std::complex<float>>(taps_extent(problem), random());
        check<std::complex<float>>(problem, complex_taps.data(), complex_in);
        if (HasFatalFailure()) { return; }
    }
}

TEST(OverlapSave, NonFiniteTaps) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        for (const std::int64_t k : {1, 9, 300}) {
            for (const Boundary boundary : {Boundary::zero, Boundary::reflect}) {
                Problem problem{.length = 500, .taps = k, .mode = Mode::full, .boundary = boundary};
                auto taps = random_values<float>(k, 2);
                taps[static_cast<std::size_t>(k / 3)] = bad;
                auto in = random_values<float>(500, 1);
                in[100] = 0;
                check<float>(problem, taps.data(), in);
                problem.dtype = Dtype::complex64;
                check<std::complex<float>>(problem, taps.data(), random_values<std::complex<float>>(500, 4));
                problem.complex_taps = true;
                auto complex_taps = random_values<std::complex<float>>(k, 2);
                complex_taps[0] = {1, bad};
                check<std::complex<float>>(problem, complex_taps.data(), random_values<std::complex<float>>(500, 4));
            }
        }
    }
}

// Values whose sums fit the type although sums of a whole block do not, and filters far from 1.
TEST(OverlapSave, HugeAndTinyValues) {
    for (const float scale : {3e37F, 1e-37F}) {
        Problem problem{.length = 3000, .taps = 5, .mode = Mode::same};
        auto in = random_values<float>(3000, 1);
        for (float& v : in) { v *= scale > 1 ? scale / 8 : scale * 1e6F; }
        const auto taps = std::vector<float>{0.25F, -0.25F, 0.25F, 0.25F, -0.25F};
        check<float>(problem, taps.data(), in);
    }
    for (const float tap_scale : {1e35F, 1e-30F}) {
        Problem problem{.length = 3000, .taps = 300, .mode = Mode::same};
        auto taps = random_values<float>(300, 1);
        auto in = random_values<float>(3000, 2);
        for (float& v : taps) { v *= tap_scale; }
        for (float& v : in) { v *= 1 / tap_scale; }
        check<float>(problem, taps.data(), in);
    }
}

TEST(OverlapSave, ThreadsGiveTheSameBits) {
    for (const char* const algorithm : kAlgorithms) {
        for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{50000, 400}, {200000, 70000}, {300000, 140000}}) {
            const Problem problem{.length = n, .taps = k, .mode = Mode::same};
            const auto in = random_values<float>(n, 1);
            const auto taps = random_values<float>(k, 2);
            const auto one = run(problem, taps.data(), in, algorithm, 1);
            for (const int threads : {2, 5}) {
                const auto many = run(problem, taps.data(), in, algorithm, threads);
                EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0) << describe(problem, algorithm);
            }
        }
    }
}

// Ranges of outputs give the bits of the whole, from no more input than was promised, the end of the signal included.
TEST(OverlapSave, RangesGiveTheSameBits) {
    for (const char* const algorithm : kAlgorithms) {
        for (const std::int64_t batch : {1, 2, 3}) {
            for (const Boundary boundary : {Boundary::zero, Boundary::mirror}) {
                const Problem problem{.length = 6000, .taps = 701, .batch = batch, .mode = Mode::same, .boundary = boundary};
                const auto in = random_values<float>(input_extent(problem), 1);
                const auto taps = random_values<float>(701, 2);
                const auto whole = run(problem, taps.data(), in, algorithm, 2);
                const Plan plan = make_plan(problem, taps, {.device = "cpu", .algorithm = algorithm, .threads = 2});
                const core::Executable& executable = *plan.state().executable;
                std::vector<std::byte> memory(executable.workspace_bytes() + 64);
                void* at = memory.data();
                std::size_t space = memory.size();
                std::align(64, space - 64, at, space);
                const std::span<std::byte> workspace(static_cast<std::byte*>(at), executable.workspace_bytes());
                std::vector<float> out(whole.size(), std::numeric_limits<float>::quiet_NaN());
                const std::int64_t n = problem.length, origin = plan.state().resolved.x.origin;
                for (std::int64_t first = 0; first < n; first += executable.granularity()) {
                    const std::int64_t count = std::min(executable.granularity(), n - first);
                    const bool end = first + count == n;
                    // What a stream would hold: mirrored samples too at the ends.
                    std::int64_t from = std::max<std::int64_t>(first - origin, 0);
                    std::int64_t to = std::min(first + count - 1 - origin + problem.taps + executable.lookahead(), n);
                    if (boundary == Boundary::mirror && first == 0) { to = std::max(to, origin + 1); }
                    if (boundary == Boundary::mirror && end) {
                        from = std::max<std::int64_t>(std::min(from, n - problem.taps - 1), 0);
                    }
                    const core::Input input{
                        .main = {.data = in.data() + from, .first = from, .last = to, .batch_stride = n, .stride = 1},
                        .extra = {},
                        .n = n};
                    const core::Output output{
                        .data = out.data() + first, .first = first, .count = count, .batch_stride = n, .stride = 1};
                    executable.execute(output, input, workspace, nullptr);
                }
                EXPECT_EQ(std::memcmp(out.data(), whole.data(), whole.size() * sizeof(float)), 0) << describe(problem, algorithm);
            }
        }
    }
}

TEST(OverlapSave, EveryTarget) {
    for (const std::string& target : cpu_targets()) {
        force_cpu_target(target);
        check_random<float>({.length = 3000, .taps = 129, .mode = Mode::same});
        check_random<double>({.length = 3000, .taps = 129, .mode = Mode::same});
        check_random<std::complex<float>>({.length = 3000, .taps = 129, .mode = Mode::same});
        const std::vector<float> taps(129, 1);
        const Plan plan = make_plan({.length = 3000, .taps = 129}, taps, {.device = "cpu", .algorithm = "overlap_save"});
        EXPECT_NE(plan.explain().find(target), std::string::npos) << plan.explain();
    }
    force_cpu_target("");
}

TEST(OverlapSave, Refusals) {
    const std::vector<float> taps(9, 1);
    const PlanOptions strict{.device = "cpu", .accuracy = Accuracy::strict, .algorithm = "partitioned"};
    EXPECT_THROW(make_plan({.length = 100, .taps = 9}, taps, strict), Error);
    for (const char* const algorithm : kAlgorithms) {
        const std::vector<std::int64_t> integers(9, 1);
        EXPECT_THROW(
            make_plan({.length = 100, .taps = 9, .dtype = Dtype::i16}, integers, {.device = "cpu", .algorithm = algorithm}), Error);
    }
}

}  // namespace
}  // namespace tapline
