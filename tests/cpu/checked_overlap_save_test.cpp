// Strict accuracy by transforms: every output's own bound, whatever lies beside it in its block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "cpu/both_precisions.hpp"
#include "cpu/fft/fft.hpp"
#include "cpu/overlap_save/checked_bound.hpp"
#include "support/sanitized.hpp"
#include "support/strict_signals.hpp"
#include "tapline/info.hpp"
#include "tapline/stream.hpp"
#include "tapline/tapline.hpp"

namespace tapline::test {
namespace {

PlanOptions strict(const std::string& algorithm = "overlap_save", int threads = 1) {
    return {.device = "cpu", .accuracy = Accuracy::strict, .algorithm = algorithm, .threads = threads};
}

template <class T>
std::vector<T> run(const Problem& p, const std::vector<T>& taps, const std::vector<T>& in, const PlanOptions& options = strict()) {
    std::vector<T> out(static_cast<std::size_t>(output_extent(p) * reals_of(p.dtype)), NAN);
    const Plan plan = make_plan(p, static_cast<const void*>(taps.data()), options);
    plan.execute(static_cast<void*>(out.data()), static_cast<const void*>(in.data()));
    return out;
}

/// Samples of f32 and f64, complex ones too.
template <class T>
class CheckedOverlapSave : public BothPrecisions<T> {
protected:
    static void expect_kept(const Problem& p, const Floats& taps, const Floats& in, const std::string& what) {
        const std::vector<T> h = widened<T>(taps), x = widened<T>(in);
        EXPECT_EQ(misses(p, h, x, run(p, h, x)), 0) << what << ", " << p.taps << " taps, " << to_string(p.mode);
    }
};
TYPED_TEST_SUITE(CheckedOverlapSave, Precisions);

TYPED_TEST(CheckedOverlapSave, EverySignalKeepsItsBound) {
    for (const std::int64_t k : {65, 300, 1111}) {
        const Problem p{.length = test::kSanitized ? 2500 : 6000, .taps = k, .mode = Mode::same, .dtype = TestFixture::kReal};
        for_every_signal(p, 1, [&](const Floats& taps, const Floats& in, const std::string& what) {
            TestFixture::expect_kept(p, taps, in, what);
        });
    }
}

TYPED_TEST(CheckedOverlapSave, ModesBoundariesAndLengths) {
    for (const std::int64_t n : {1, 100, 1500, 4099}) {
        for (const std::int64_t k : {65, 129, 700, 5000}) {
            for (const Mode mode : {Mode::full, Mode::same, Mode::valid, Mode::causal, Mode::leading}) {
                if (mode == Mode::valid && k > n) { continue; }
                for (const Boundary boundary :
                     {Boundary::zero, Boundary::constant, Boundary::nearest, Boundary::reflect, Boundary::mirror, Boundary::wrap}) {
                    const std::int64_t most = test::kSanitized ? 100'000 : 1'000'000;  // products of each boundary
                    if (n * k > most && boundary != Boundary::zero && boundary != Boundary::wrap) { continue; }
                    if (test::kSanitized && n * k > 1'000'000 && mode != Mode::full) { continue; }
                    const Problem p{
                        .length = n, .taps = k, .mode = mode, .boundary = boundary, .constant = 2, .dtype = TestFixture::kReal};
                    Floats in = random_samples(n, 3);
                    scale(in, 0, in.size() / 3, 1e9F);
                    this->expect_kept(p, random_samples(k, 4), in, to_string(boundary));
                }
            }
        }
    }
}

TYPED_TEST(CheckedOverlapSave, ComplexSignals) {
    for_every_complex_signal(
        2500, Mode::same,
        [](const Problem& p, const Floats& taps, const Floats& in, const std::string& what) {
            TestFixture::expect_kept(p, taps, in, what);
        },
        TestFixture::kComplex);
    // Complex taps that are real: the imaginary parts of a real signal's outputs are zero.
    const Problem p{.length = 4000, .taps = 333, .mode = Mode::same, .dtype = TestFixture::kComplex, .complex_taps = true};
    Floats in = random_samples(2 * p.length, 5), taps = random_samples(2 * p.taps, 6);
    for (Floats* values : {&in, &taps}) {
        for (std::size_t i = 1; i < values->size(); i += 2) { (*values)[i] = 0; }
    }
    this->expect_kept(p, taps, in, "real");
}

TYPED_TEST(CheckedOverlapSave, RowsAndFiltersOfTheirOwn) {
    for_rows_beside_quiet_ones(
        3000, [](const Problem& p, const Floats& taps, const Floats& in) { TestFixture::expect_kept(p, taps, in, "rows"); },
        TestFixture::kReal);
}

TYPED_TEST(CheckedOverlapSave, EveryTargetKeepsItsBound) {
    for (const std::string& target : cpu_targets()) {
        force_cpu_target(target);
        for (const Signal& signal : kSignals) {
            Floats in = random_samples(5000, 9);
            signal.make(in);
            const Floats taps = taps_for(signal, random_samples(257, 10));
            this->expect_kept({.length = 5000, .taps = 257, .mode = Mode::same, .dtype = TestFixture::kReal}, taps, in,
                              target + ": " + signal.name);
        }
    }
    force_cpu_target("");
}

TYPED_TEST(CheckedOverlapSave, BitsDoNotDependOnThreadsOrChunks) {
    using Values = std::vector<TypeParam>;
    for (const Signal& signal : kSignals) {
        const Problem p{.length = 30000, .taps = 301, .mode = Mode::same, .dtype = TestFixture::kReal};
        Floats samples = random_samples(p.length, 11);
        signal.make(samples);
        const Values in = widened<TypeParam>(samples), taps = widened<TypeParam>(random_samples(p.taps, 12)),
                     one = run(p, taps, in);
        const Values many = run(p, taps, in, strict("overlap_save", 3));
        EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(TypeParam)), 0) << signal.name;
        Stream stream(p, taps.data(), {.plan = strict(), .samples_per_run = 5000});
        Values streamed(one.size());
        std::int64_t pushed = 0, taken = 0;
        const auto drain = [&] {
            while (const std::int64_t got = stream.take(streamed.data() + taken, p.length - taken)) { taken += got; }
        };
        for (const std::int64_t some : {1, 777, 4096, 12345, 12781}) {
            stream.push(in.data() + pushed, some);
            pushed += some;
            drain();
        }
        ASSERT_EQ(pushed, p.length);
        stream.flush();
        drain();
        EXPECT_EQ(taken, p.length);
        EXPECT_EQ(std::memcmp(one.data(), streamed.data(), one.size() * sizeof(TypeParam)), 0) << signal.name;
    }
}

// Large enough that threads share a transform, and that a transform has columns.
TYPED_TEST(CheckedOverlapSave, LongFilters) {
    using Values = std::vector<TypeParam>;
    const Problem p{.length = 200'000, .taps = 60'001, .mode = Mode::valid, .dtype = TestFixture::kReal};
    Floats samples = random_samples(p.length, 13);
    scale(samples, 0, 50'000, 1e12F);
    samples[150'000] = NAN;
    const Values in = widened<TypeParam>(samples), taps = widened<TypeParam>(random_samples(p.taps, 14));
    const Values one = run(p, taps, in), two = run(p, taps, in, strict("overlap_save", 2));
    EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(TypeParam)), 0);
    // A few outputs against the textbook, each a problem of its own.
    for (const std::size_t o : {0U, 40'000U, 49'999U, 50'000U, 51'000U, 89'999U, 89'998U, 100'000U, 139'999U}) {
        const auto first = in.begin() + static_cast<std::ptrdiff_t>(o);
        const Problem single{.length = p.taps, .taps = p.taps, .mode = Mode::valid, .dtype = TestFixture::kReal};
        EXPECT_EQ(misses(single, taps, Values(first, first + p.taps), {one[o]}), 0) << o;
    }
}

// What the check is for: without it, outputs of a transform in double miss the bound in numbers.
TYPED_TEST(CheckedOverlapSave, TransformsAloneMissTheBound) {
    Problem p{.length = 9000, .taps = 300, .mode = Mode::same, .dtype = TestFixture::kReal};
    Floats samples = random_samples(p.length, 15);
    scale(samples, 4000, 4500, 1e16F);
    const std::vector<TypeParam> in = widened<TypeParam>(samples), taps = widened<TypeParam>(random_samples(p.taps, 16));
    const std::vector<double> wide_in(in.begin(), in.end()), wide_taps(taps.begin(), taps.end());
    std::vector<double> wide_out(in.size());
    Problem wide = p;
    wide.dtype = Dtype::f64;
    make_plan(wide, wide_taps, {.device = "cpu", .algorithm = "overlap_save"}).execute(wide_out.data(), wide_in.data());
    EXPECT_GT(misses(p, taps, in, std::vector<TypeParam>(wide_out.begin(), wide_out.end())), 100);
    EXPECT_EQ(misses(p, taps, in, run(p, taps, in)), 0);
}

// The inequalities themselves: an output just large enough keeps the bound with all of the proved error, one a little smaller would
// not be said to.
TYPED_TEST(CheckedOverlapSave, TheBoundIsTight) {
    core::Resolved problem;
    problem.x.k = 511;
    const std::vector<TypeParam> taps = widened<TypeParam>(random_samples(511, 17));
    const cpu::OutputBound<TypeParam> bound(problem, 13, taps.data());
    double squares = 0;
    for (const TypeParam tap : taps) { squares += static_cast<double>(tap) * static_cast<double>(tap); }
    constexpr auto kEpsilon = static_cast<double>(std::numeric_limits<TypeParam>::epsilon());
    const double energy = 12345.678;
    const double error = cpu::proved_error(13) * std::sqrt(energy * squares), allowed = 513 * kEpsilon;
    const double output = bound.least_output(0, energy);
    EXPECT_LE(error + kEpsilon / 2 * output, allowed * (output - error));
    EXPECT_GT(error + kEpsilon / 2 * 0.999 * output, allowed * (0.999 * output - error));
    const double sum = bound.least_sum(0, energy);
    EXPECT_LE(error + kEpsilon / 2 * (sum + error), allowed * sum);
    EXPECT_GT(error + kEpsilon / 2 * (0.999 * sum + error), allowed * 0.999 * sum);
    EXPECT_TRUE(std::isnan(bound.least_output(0, NAN)));
}

// Signals whose sums cancel, or are zero, do not fall back to direct sums: those would give the bits of `direct`.
TYPED_TEST(CheckedOverlapSave, WhatCancelsStaysTransformed) {
    const Problem p{.length = 100'000, .taps = 501, .mode = Mode::valid, .dtype = TestFixture::kReal};
    const Floats cancelling = high_pass(p.taps);
    const std::vector<TypeParam> in(static_cast<std::size_t>(p.length), static_cast<TypeParam>(0.7F)),
        taps(cancelling.begin(), cancelling.end());
    const std::vector<TypeParam> checked = run(p, taps, in), direct = run(p, taps, in, strict("direct"));
    std::int64_t same = 0;
    for (std::size_t o = 0; o < checked.size(); ++o) { same += checked[o] == direct[o]; }
    EXPECT_LT(same, static_cast<std::int64_t>(checked.size()) / 10);
    EXPECT_EQ(misses(p, taps, in, checked, 0.01), 0);  // and are far more exact
}

TYPED_TEST(CheckedOverlapSave, SaysWhatItDoes) {
    std::vector<TypeParam> taps = widened<TypeParam>(random_samples(511, 18));
    const Problem p{.length = 1 << 20, .taps = 511, .dtype = TestFixture::kReal};
    const Plan plan = make_plan(p, taps, {.device = "cpu", .accuracy = Accuracy::strict});
    EXPECT_EQ(plan.algorithm(), "overlap_save");
    for (const char* const word : {"FFT in double", "every output checked", "strict"}) {
        EXPECT_NE(plan.explain().find(word), std::string::npos) << plan.explain();
    }
    taps[5] = NAN;
    EXPECT_EQ(make_plan(p, taps, {.device = "cpu", .accuracy = Accuracy::strict}).algorithm(), "direct");
}

// Numbers of f64 whose products leave its range, or would in a transform.
TEST(SplitOverlapSave, ExtremesOfDouble) {
    for (const double factor : {1e-320, 1e-300, 1e-150, 1e100, 1e150, 1e307}) {
        for (const double tap_factor : {1e-310, 1e-200, 1.0, 1e200}) {
            const Problem p{.length = 3000, .taps = 400, .mode = Mode::same, .dtype = Dtype::f64};
            std::vector<double> in = widened<double>(random_samples(p.length, 19)),
                                taps = widened<double>(random_samples(p.taps, 20));
            for (double& x : in) { x = std::clamp(x, -2.0, 2.0) * factor; }
            for (double& tap : taps) { tap = std::clamp(tap, -2.0, 2.0) * tap_factor; }
            if (factor * tap_factor > 1e300) { continue; }  // sums overflow
            EXPECT_EQ(misses(p, taps, in, run(p, taps, in)), 0) << factor << " under " << tap_factor;
        }
    }
}

}  // namespace
}  // namespace tapline::test
