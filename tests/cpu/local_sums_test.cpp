// Transforms of short filters: every output keeps the digits that its own window allows, whatever lies beside it.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/sanitized.hpp"
#include "tapline/plan.hpp"

namespace tapline {
namespace {

constexpr std::int64_t kLength = 20000;

template <class T>
constexpr Dtype kDtype = std::is_same_v<T, float>    ? Dtype::f32
                         : std::is_same_v<T, double> ? Dtype::f64
                                                     : Dtype::complex64;

template <class T>
std::vector<T> noise(std::int64_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values) {
        if constexpr (std::is_floating_point_v<T>) {
            value = static_cast<T>(normal(random));
        } else {
            value = T(static_cast<float>(normal(random)), static_cast<float>(normal(random)));
        }
    }
    return values;
}

template <class T>
std::vector<T> run(const Problem& problem, const std::vector<T>& taps, const std::vector<T>& in, const PlanOptions& options) {
    const Plan plan = make_plan(problem, taps, options);
    std::vector<T> out(static_cast<std::size_t>(output_extent(problem)));
    plan.execute(static_cast<void*>(out.data()), static_cast<const void*>(in.data()));
    return out;
}

PlanOptions transforms(Accuracy accuracy = Accuracy::standard, int threads = 1) {
    return {.device = "cpu", .accuracy = accuracy, .algorithm = "overlap_save", .threads = threads};
}

// How far output o is off, beside |taps| times the norm of its own window, in units of the type's roundoff.
template <class T>
double worst_error(const std::vector<T>& in, const std::vector<T>& taps, const std::vector<T>& out) {
    using Wide = std::complex<long double>;
    const auto k = static_cast<std::int64_t>(taps.size());
    long double taps_norm = 0;
    for (const T& tap : taps) { taps_norm += std::norm(Wide(tap)); }
    long double worst = 0;
    for (std::int64_t o = 32; o < kLength; ++o) {  // the windows before hold less than a passage
        Wide sum = 0;
        long double norm = 0;
        for (std::int64_t t = 0; t < std::min(k, o + 1); ++t) {
            const Wide sample(in[static_cast<std::size_t>(o - t)]);
            sum += Wide(taps[static_cast<std::size_t>(t)]) * sample;
            norm += std::norm(sample);
        }
        const long double error = std::abs(Wide(out[static_cast<std::size_t>(o)]) - sum);
        worst = std::max(worst, error / std::sqrt(taps_norm * norm));
    }
    return static_cast<double>(worst) / (sizeof(T) == sizeof(double) && std::is_floating_point_v<T> ? 0x1p-53 : 0x1p-24);
}

struct Shape {
    const char* name;
    std::function<double(std::int64_t)> loudness;
};

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> kShapes = {
        {"even", [](std::int64_t) { return 1.0; }},
        {"a loud half", [](std::int64_t i) { return i < kLength / 2 ? 1e6 : 1.0; }},
        {"a quiet half", [](std::int64_t i) { return i < kLength / 2 ? 1.0 : 1e6; }},
        {"far louder", [](std::int64_t i) { return i < kLength / 2 ? 1e18 : 1e-15; }},
        {"one loud sample", [](std::int64_t i) { return i == 7777 ? 1e5 : 1.0; }},
        {"a loud sample in a hundred", [](std::int64_t i) { return i % 100 == 0 ? 1e5 : 1.0; }},
        {"short quiet passages", [](std::int64_t i) { return i % 500 < 100 ? 1e-4 : 1.0; }},
        {"just quiet enough", [](std::int64_t i) { return i % 1500 < 200 ? 0.3 : 1.0; }},
        {"a decay", [](std::int64_t i) { return std::exp(-static_cast<double>(i) / 600); }},
        {"slow", [](std::int64_t i) { return std::sin(static_cast<double>(i) / 300); }},
        {"silence", [](std::int64_t i) { return i % 4000 < 2000 ? 0.0 : 1.0; }},
        {"a quiet end", [](std::int64_t i) { return i < kLength - 50 ? 1.0 : 1e-5; }},
    };
    return kShapes;
}

template <class T>
void check_shapes() {
    for (const std::int64_t k : {127, 64, 100, 128}) {
        if (test::kSanitized && k != 127) { break; }
        const Problem problem{
            .length = kLength, .taps = k, .mode = Mode::causal, .dtype = kDtype<T>, .complex_taps = !std::is_floating_point_v<T>};
        const std::vector<T> taps = noise<T>(k, 1);
        for (const Shape& shape : shapes()) {
            std::vector<T> in = noise<T>(kLength, 2);
            for (std::int64_t i = 0; i < kLength; ++i) {
                in[static_cast<std::size_t>(i)] *= static_cast<decltype(std::abs(T{}))>(shape.loudness(i));
            }
            // A transform's error is about 3 roundoffs of the block's mean, 15 at the most; it may be four times the window's.
            EXPECT_LE(worst_error(in, taps, run(problem, taps, in, transforms())), 60) << shape.name << ", " << k << " taps";
        }
    }
}

TEST(LocalSums, EveryOutputKeepsItsOwnDigitsF32) { check_shapes<float>(); }
TEST(LocalSums, EveryOutputKeepsItsOwnDigitsF64) { check_shapes<double>(); }
TEST(LocalSums, EveryOutputKeepsItsOwnDigitsComplex) { check_shapes<std::complex<float>>(); }

// The same of rows side by side, each of its own shape.
TEST(LocalSums, RowsSideBySide) {
    const auto rows = static_cast<std::int64_t>(shapes().size());
    for (const std::int64_t k : {127, 64, 100}) {
        Problem problem{.length = kLength, .taps = k, .batch = rows, .mode = Mode::causal};
        problem.input_row_stride = problem.output_row_stride = 1;
        problem.input_sample_stride = problem.output_sample_stride = rows;
        const std::vector<float> taps = noise<float>(k, 1);
        std::vector<float> in = noise<float>(kLength * rows, 3);
        for (std::size_t i = 0; i < in.size(); ++i) {
            in[i] *= static_cast<float>(shapes()[i % shapes().size()].loudness(static_cast<std::int64_t>(i) / rows));
        }
        const std::vector<float> out = run(problem, taps, in, transforms());
        for (std::size_t row = 0; row < shapes().size(); ++row) {
            std::vector<float> one_in, one_out;
            for (std::size_t i = row; i < in.size(); i += shapes().size()) {
                one_in.push_back(in[i]);
                one_out.push_back(out[i]);
            }
            EXPECT_LE(worst_error(one_in, taps, one_out), 60) << shapes()[row].name << ", " << k << " taps";
        }
    }
}

// The comparison above can fail: without a watch it does.
TEST(LocalSums, WhatIsNotWatchedOverLosesThem) {
    const Problem problem{.length = kLength, .taps = 127, .mode = Mode::causal};
    const std::vector<float> taps = noise<float>(127, 1);
    std::vector<float> in = noise<float>(kLength, 2);
    for (std::size_t i = 0; i < kLength / 2; ++i) { in[i] *= 1e6F; }
    EXPECT_GT(worst_error(in, taps, run(problem, taps, in, transforms(Accuracy::fast))), 1e4);
}

// Where nothing is quiet, transforms it is: the bits are those of the algorithm that nobody watches over.
TEST(LocalSums, EvenSamplesAreTransformed) {
    for (const Boundary boundary : {Boundary::zero, Boundary::reflect, Boundary::wrap}) {
        for (const Mode mode : {Mode::causal, Mode::same, Mode::valid, Mode::full}) {
            const Problem problem{.length = kLength, .taps = 100, .batch = 3, .mode = mode, .boundary = boundary};
            const std::vector<float> taps = noise<float>(100, 1);
            const std::vector<float> in = noise<float>(3 * kLength, 2);
            EXPECT_EQ(run(problem, taps, in, transforms()), run(problem, taps, in, transforms(Accuracy::fast)));
        }
    }
}

TEST(LocalSums, UnevenSamplesAreSummedDirectly) {
    const Problem problem{.length = kLength, .taps = 100, .batch = 2, .mode = Mode::causal};
    const std::vector<float> taps = noise<float>(100, 1);
    std::vector<float> in = noise<float>(2 * kLength, 2);
    for (std::size_t i = 0; i < in.size(); ++i) { in[i] *= i % 100 < 60 ? 1e-3F : 1.0F; }
    PlanOptions direct = transforms();
    direct.algorithm = "direct";
    EXPECT_EQ(run(problem, taps, in, transforms()), run(problem, taps, in, direct));
}

// A loud row and a quiet one may be the halves of one transform.
TEST(LocalSums, AQuietRowBesideALoudOne) {
    const Problem problem{.length = kLength, .taps = 127, .batch = 2, .mode = Mode::causal};
    const std::vector<float> taps = noise<float>(127, 1);
    std::vector<float> in = noise<float>(2 * kLength, 2);
    for (std::size_t i = 0; i < kLength; ++i) { in[i] *= 1e6F; }
    const std::vector<float> out = run(problem, taps, in, transforms());
    for (const std::size_t row : {0, 1}) {
        const auto from = static_cast<std::ptrdiff_t>(row * kLength);
        const std::vector<float> row_in(in.begin() + from, in.begin() + from + kLength);
        const std::vector<float> row_out(out.begin() + from, out.begin() + from + kLength);
        EXPECT_LE(worst_error(row_in, taps, row_out), 60) << "row " << row;
    }
}

TEST(LocalSums, ThreadsGiveTheSameBits) {
    const Problem problem{.length = kLength, .taps = 127, .batch = 5, .mode = Mode::full};
    const std::vector<float> taps = noise<float>(127, 1);
    std::vector<float> in = noise<float>(5 * kLength, 2);
    for (std::size_t i = 0; i < in.size(); ++i) { in[i] *= i % 9000 < 3000 ? 1e-3F : 1.0F; }
    in[12345] = std::numeric_limits<float>::infinity();
    const std::vector<float> one = run(problem, taps, in, transforms());
    for (const int threads : {2, 5}) {
        const std::vector<float> more = run(problem, taps, in, transforms(Accuracy::standard, threads));
        EXPECT_EQ(std::memcmp(one.data(), more.data(), one.size() * sizeof(float)), 0);
    }
}

}  // namespace
}  // namespace tapline
