// Plans as users meet them: choice, explanation, reuse from several threads, the same bits for any number of threads.
#include <gtest/gtest.h>

#include <thread>

#include "support/buffers.hpp"
#include "support/comparison.hpp"
#include "tapline/tapline.hpp"

namespace tapline {
namespace {

using test::Random;

Problem problem_of(std::int64_t n, std::int64_t k, Mode mode = Mode::same) { return {.length = n, .taps = k, .mode = mode}; }

std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<float> values(static_cast<std::size_t>(count));
    test::fill_reals<float>(values.data(), count, random);
    return values;
}

std::vector<float> run(const Problem& p, const std::vector<float>& taps, const std::vector<float>& in, const PlanOptions& options) {
    std::vector<float> out(static_cast<std::size_t>(output_extent(p)), NAN);
    make_plan(p, taps, options).execute(std::span<float>(out), std::span<const float>(in));
    return out;
}

std::vector<std::string> float_algorithms(const Problem& p) {
    std::vector<std::string> names;
    for (const AlgorithmInfo& info : algorithms(p, "cpu")) {
        if (info.supported) { names.push_back(info.name); }
    }
    return names;
}

TEST(Plan, ShortFiltersAreDirectAndLongOnesAreNot) {
    EXPECT_EQ(make_plan(problem_of(1 << 20, 9), random_floats(9, 1), {.device = "cpu"}).algorithm(), "direct");
    EXPECT_NE(make_plan(problem_of(1 << 20, 8191), random_floats(8191, 1), {.device = "cpu"}).algorithm(), "direct");
    const PlanOptions strict{.device = "cpu", .accuracy = Accuracy::strict};
    EXPECT_EQ(make_plan(problem_of(1 << 20, 63), random_floats(63, 1), strict).algorithm(), "direct");
    EXPECT_EQ(make_plan(problem_of(1 << 20, 8191), random_floats(8191, 1), strict).algorithm(), "overlap_save");
    Problem wide = problem_of(1 << 20, 8191);
    wide.dtype = Dtype::f64;
    EXPECT_EQ(make_plan(wide, std::vector<double>(8191, 1).data(), strict).algorithm(), "overlap_save");
}

TEST(Plan, AQuietPassageBesideALoudOneKeepsItsDigits) {
    const Problem p = problem_of(1 << 16, 127);
    const auto taps = random_floats(127, 1);
    auto in = random_floats(1 << 16, 2);
    const std::size_t half = in.size() / 2;
    for (std::size_t i = half; i < in.size(); ++i) { in[i] *= 1e6F; }
    EXPECT_EQ(make_plan(p, taps, {.device = "cpu", .accuracy = Accuracy::fast}).algorithm(), "overlap_save");
    for (const Accuracy accuracy : {Accuracy::standard, Accuracy::strict}) {
        const auto out = run(p, taps, in, {.device = "cpu", .accuracy = accuracy});
        const auto exact = reference::sums(p, in.data(), taps.data());
        long double squares = 0;
        long double errors = 0;
        for (std::size_t o = 0; o < half - 127; ++o) {
            const long double error = out[o] - exact.real[o];
            errors += error * error;
            squares += exact.real[o] * exact.real[o];
        }
        EXPECT_LE(std::sqrt(errors / squares), 1e-6L);
    }
}

TEST(Plan, ExplainsItself) {
    const Plan plan = make_plan(problem_of(100000, 501), random_floats(501, 1), {.device = "cpu", .threads = 2});
    const std::string text = plan.explain();
    for (const std::string word : {"same convolution", "100000", "501 taps", "origin 250", "zero boundary", "2 threads", "fastest",
                                   "predicted", "of the copy's speed", "standard"}) {
        EXPECT_NE(text.find(word), std::string::npos) << word << " is not in:\n" << text;
    }
    EXPECT_NE(text.find(plan.algorithm()), std::string::npos);
    EXPECT_GT(plan.predicted_seconds(), 0);
}

TEST(Plan, TheSameRequestGivesTheSameChoice) {
    for (const std::int64_t k : {1, 30, 200, 3000, 100000}) {
        const auto taps = random_floats(k, 1);
        const Plan a = make_plan(problem_of(1 << 18, k), taps, {.device = "cpu", .threads = 2});
        const Plan b = make_plan(problem_of(1 << 18, k), taps, {.device = "cpu", .threads = 2});
        EXPECT_EQ(a.explain(), b.explain());
    }
}

TEST(Plan, BitsDoNotDependOnThreadsAlignmentOrTime) {
    const Problem p = problem_of(300007, 777);
    const auto taps = random_floats(777, 2);
    const auto in = random_floats(300007, 3);
    for (const std::string& algorithm : float_algorithms(p)) {
        if (algorithm == "textbook") { continue; }
        const auto wanted = run(p, taps, in, {.device = "cpu", .algorithm = algorithm, .threads = 1});
        for (const int threads : {2, 3, 7}) {
            EXPECT_EQ(run(p, taps, in, {.device = "cpu", .algorithm = algorithm, .threads = threads}), wanted)
                << algorithm << " " << threads;
        }
        std::vector<float> shifted(in.size() + 3);
        std::copy(in.begin(), in.end(), shifted.begin() + 3);
        std::vector<float> out(wanted.size() + 5, NAN);
        const Plan plan = make_plan(p, taps, {.device = "cpu", .algorithm = algorithm, .threads = 2});
        plan.execute(out.data() + 5, shifted.data() + 3);
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), out.begin() + 5)) << algorithm << " moved in memory";
    }
}

TEST(Plan, MayRunInSeveralThreadsAtOnce) {
    for (const std::int64_t k : {31, 2047}) {
        const Problem p = problem_of(100000, k);
        const auto taps = random_floats(k, 2);
        const auto in = random_floats(100000, 3);
        const Plan plan = make_plan(p, taps, {.device = "cpu", .threads = 2});
        const auto wanted = run(p, taps, in, {.device = "cpu", .threads = 2});
        std::vector<std::vector<float>> outs(4, std::vector<float>(wanted.size(), NAN));
        std::vector<std::thread> threads;
        threads.reserve(outs.size());
        for (auto& out : outs) {
            threads.emplace_back([&] { plan.execute(std::span<float>(out), std::span<const float>(in)); });
        }
        for (auto& thread : threads) { thread.join(); }
        for (const auto& out : outs) { EXPECT_EQ(out, wanted); }
    }
}

TEST(Plan, MeasuringChoosesSomethingThatIsRight) {
    const Problem p = problem_of(20000, 300);
    const auto taps = random_floats(300, 2);
    const auto in = random_floats(20000, 3);
    const Plan plan = make_plan(p, taps, {.device = "cpu", .effort = Effort::measure});
    EXPECT_NE(plan.explain().find("measured"), std::string::npos);
    std::vector<float> out(in.size(), NAN);
    plan.execute(std::span<float>(out), std::span<const float>(in));
    EXPECT_EQ(test::compare(p, out.data(), in.data(), taps.data(), false), "");
}

TEST(Plan, EveryTargetRunsAndSaysSo) {
    const Problem p = problem_of(5000, 100);
    const auto taps = random_floats(100, 2);
    const auto in = random_floats(5000, 3);
    for (const std::string& target : cpu_targets()) {
        force_cpu_target(target);
        EXPECT_EQ(cpu_target(), target);
        for (const std::string& algorithm : float_algorithms(p)) {
            const Plan plan = make_plan(p, taps, {.device = "cpu", .algorithm = algorithm});
            if (algorithm != "textbook") { EXPECT_NE(plan.explain().find(target), std::string::npos) << plan.explain(); }
            std::vector<float> out(in.size(), NAN);
            plan.execute(std::span<float>(out), std::span<const float>(in));
            EXPECT_EQ(test::compare(p, out.data(), in.data(), taps.data(), algorithm == "direct"), "")
                << target << " " << algorithm;
        }
    }
    force_cpu_target("");
}

TEST(Info, EnginesSayWhyTheyAreAbsent) {
    for (const EngineInfo& engine : engines()) {
        EXPECT_EQ(engine.available, engine.reason.empty()) << engine.name;
        EXPECT_EQ(engine.available, !engine.devices.empty()) << engine.name;
    }
    EXPECT_GE(available_threads(), 1);
}

// An algorithm that goes through outer axes by itself is measured on all of the problem, not on what one element takes.
TEST(Plan, MeasuringGoesThroughOuterAxesInBuffersOfTheirSize) {
    Problem p;
    p.axes.push_back({.length = 200, .taps = 9, .mode = Mode::same, .input_stride = 300, .output_stride = 300});
    p.batch_axes.push_back({.length = 60, .input_stride = 200 * 300, .output_stride = 200 * 300});
    p.batch_axes.push_back({.length = 300, .input_stride = 1, .output_stride = 1});
    const Plan plan = make_plan(p, std::vector<float>(9, 1.0F), {.device = "cpu", .effort = Effort::measure});
    EXPECT_NE(plan.explain().find("as measured now"), std::string::npos) << plan.explain();
}

}  // namespace
}  // namespace tapline
